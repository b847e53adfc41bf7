// Reads the Kubernetes driver's YAML: one clear line with file, line and key for whatever does not fit.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { InputError } from '../domain/errors.ts';
import { firstIssue, inWords, issueText, lineOf } from '../domain/input-issues.ts';
import { KubernetesConfigSchema, type KubernetesConfig } from './config.ts';

const configExit = 78;
const example = 'examples/kubernetes.yaml';

/**
 * The configuration in a file; paths of files in it are relative to it. Null: nobody named a file.
 * @throws InputError (exit 78) with file, line and key.
 */
export async function readKubernetesConfig(file: string | null): Promise<KubernetesConfig> {
  if (file === null) {
    throw new InputError(
      `sandbox kubernetes: no file says which cluster and registry: write one as ${example} shows, and name it with --kubernetes FILE or PASSBAND_KUBERNETES`,
      configExit,
    );
  }
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new InputError(
      `${file}: cannot be read (${error instanceof Error ? error.message : String(error)}): --kubernetes takes a YAML file as ${example}`,
      configExit,
    );
  });
  return resolvePaths(parseConfig(file, text), path.dirname(path.resolve(file)));
}

function parseConfig(file: string, text: string): KubernetesConfig {
  const counter = new LineCounter();
  const lineAt = (offset: number): number => counter.linePos(offset).line;
  const document = parseDocument(text, { lineCounter: counter, uniqueKeys: true, prettyErrors: false });
  const broken = document.errors[0];
  if (broken !== undefined) {
    throw new InputError(
      `${file}:${lineAt(broken.pos[0])}: not valid YAML: ${broken.message.split('\n')[0] ?? ''}`,
      configExit,
    );
  }
  // An empty file is an empty table: what it lacks is named.
  const parsed = KubernetesConfigSchema.safeParse(document.toJS() ?? {}, { error: inWords });
  if (parsed.success) return parsed.data;
  const issue = firstIssue(parsed.error, `those of ${example}`);
  const line = lineOf(document, lineAt, issue.path);
  throw new InputError(`${file}${line === null ? '' : `:${line}`}: ${issueText(issue)}`, configExit);
}

function resolvePaths(config: KubernetesConfig, base: string): KubernetesConfig {
  const { kubeconfig, registry, buildkit } = config;
  const { dockerConfig } = registry;
  const buildctl = buildkit?.buildctl;
  return {
    ...config,
    ...(kubeconfig === undefined ? {} : { kubeconfig: path.resolve(base, kubeconfig) }),
    registry: {
      ...registry,
      ...(dockerConfig === undefined ? {} : { dockerConfig: path.resolve(base, dockerConfig) }),
    },
    // A program without a folder is looked for on PATH.
    ...(buildkit === undefined || buildctl === undefined || !buildctl.includes('/')
      ? {}
      : { buildkit: { ...buildkit, buildctl: path.resolve(base, buildctl) } }),
  };
}
