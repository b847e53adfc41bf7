// The chart, rendered by the helm that the test cluster builds.
import { execFile } from 'node:child_process';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { ownCluster } from './cluster.ts';

const run = promisify(execFile);
const chart = path.resolve('helm/passband');

export type Values = Readonly<Record<string, unknown>>;

/** The least that the chart takes. */
export const leastValues = {
  image: { repository: 'registry.example:5000/passband/worker', tag: '1' },
  temporal: { address: 'temporal.example:7233' },
  store: { url: 's3://passband-store/grading' },
  kubernetes: { registry: { repository: 'registry.example:5000/passband' } },
};

const ManifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});
export type Manifest = z.infer<typeof ManifestSchema>;

let found: Promise<string> | null = null;

/** The helm of test/cluster/versions.sh, or on a user's cluster that on PATH. Not there: an error, never a skipped test. */
export function helmProgram(): Promise<string> {
  found ??= find();
  return found;
}

async function find(): Promise<string> {
  if (!ownCluster) return 'helm';
  const script = '. test/cluster/versions.sh && echo "$CLUSTER_CACHE/helm-$HELM/helm"';
  const { stdout } = await run('bash', ['-c', script]);
  const program = stdout.trim();
  await access(program).catch(() => {
    throw new Error(`helm is not at ${program}: npm run cluster up builds it`);
  });
  return program;
}

/** Runs helm with `values` as a file. Answers stdout; throws an error whose message is what helm said. */
export async function helm(args: readonly string[], values?: Values): Promise<string> {
  const program = await helmProgram();
  const folder = await mkdtemp(path.join(tmpdir(), 'passband-values-'));
  try {
    const file = path.join(folder, 'values.yaml');
    await writeFile(file, stringify(values ?? {}));
    const given = values === undefined ? [] : ['--values', file];
    return (await run(program, [...args, ...given], { maxBuffer: 16 * 1024 ** 2 })).stdout;
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'stderr' in error) {
      throw new Error(String(error.stderr).trim(), { cause: error });
    }
    throw error;
  } finally {
    await rm(folder, { recursive: true });
  }
}

export interface Rendering {
  readonly release?: string;
  readonly namespace?: string;
  /** Another chart than the project's. */
  readonly chart?: string;
}

/** What the chart makes of the values, in the order of its installation. */
export async function renderChart(values: Values, rendering: Rendering = {}): Promise<readonly Manifest[]> {
  const text = await helm(
    [
      ...['template', rendering.release ?? 'passband', rendering.chart ?? chart],
      ...['--namespace', rendering.namespace ?? 'passband', '--kube-version', '1.34.0'],
    ],
    values,
  );
  return z.array(ManifestSchema).parse(
    parseAllDocuments(text)
      .map((document): unknown => document.toJS() as unknown)
      .filter((value) => value !== null),
  );
}
