// The Kubernetes driver's file: what it takes, and the one line with exit status 78 for what it does not.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readKubernetesConfig } from '../../k8s/read-config.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'kubernetes-file-'));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function file(text: string): Promise<string> {
  const name = path.join(dir, 'kubernetes.yaml');
  await writeFile(name, text);
  return name;
}

const registry = 'registry:\n  repository: registry:5000/passband\n';

describe('the file of the Kubernetes driver', () => {
  it('has a default for everything but the registry', async () => {
    expect(await readKubernetesConfig(await file(registry))).toMatchObject({
      namespace: 'passband-trials',
      registry: { repository: 'registry:5000/passband', insecure: false, mirrors: {} },
      pod: { userNamespaces: 'never', requestedCpus: 1 },
    });
  });

  it('names files relative to itself, and looks a program without a folder up on PATH', async () => {
    const text = `kubeconfig: admin.conf\n${registry}  dockerConfig: auth/config.json\nbuildkit:\n  address: tcp://b:1234\n`;
    const here = await readKubernetesConfig(await file(`${text}  buildctl: buildctl\n`));
    expect(here).toMatchObject({
      kubeconfig: path.join(dir, 'admin.conf'),
      registry: { dockerConfig: path.join(dir, 'auth/config.json') },
      buildkit: { buildctl: 'buildctl' },
    });
    const beside = await readKubernetesConfig(await file(`${text}  buildctl: bin/buildctl\n`));
    expect(beside.buildkit?.buildctl).toBe(path.join(dir, 'bin/buildctl'));
  });

  it.each([
    ['', ': registry: it is missing; it takes a table of keys'],
    ['registry:\n  repository: HTTP://x\n', ':2: registry.repository: HOST[:PORT][/PREFIX]'],
    [
      `${registry}pod: { cpus: 2 }\n`,
      ':3: pod.cpus: unknown key; known here are those of examples/kubernetes.yaml',
    ],
    // A pod requests all the memory that it may use.
    [`${registry}pod: { requestedMemory: 0.5 }\n`, /:3: pod.requestedMemory: unknown key/],
    [`${registry}placeSec: soon\n`, ':3: placeSec: it takes a number'],
    [`${registry}namespace: A\n`, ':3: namespace: a name of lower-case letters, digits and dashes'],
    [`${registry}pod: [\n`, /:\d+: not valid YAML/],
    [`${registry}${registry}`, ':3: not valid YAML: Map keys must be unique'],
  ])('refuses %j with its line and key', async (text, message) => {
    const name = await file(text);
    const error: unknown = await readKubernetesConfig(name).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: 'InputError', exitCode: 78 });
    const line = error instanceof Error ? error.message : '';
    if (typeof message === 'string') expect(line).toBe(`${name}${message}`);
    else expect(line).toMatch(message);
    expect(line).not.toContain('\n');
  });

  it('says how to write and name one where nobody did', async () => {
    await expect(readKubernetesConfig(null)).rejects.toMatchObject({
      exitCode: 78,
      message: expect.stringMatching(
        /examples\/kubernetes\.yaml.*--kubernetes FILE or PASSBAND_KUBERNETES/,
      ) as string,
    });
    await expect(readKubernetesConfig(path.join(dir, 'none.yaml'))).rejects.toThrow(
      /none\.yaml: cannot be read/,
    );
  });
});
