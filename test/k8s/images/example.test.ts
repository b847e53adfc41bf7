import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { KubernetesConfigSchema } from '../../../k8s/config.ts';
import { readKubernetesConfig } from '../../../k8s/read-config.ts';

const example = 'examples/kubernetes.yaml';

it('has an example that says the defaults and names every setting', async () => {
  const config = await readKubernetesConfig(example);
  const { registry, buildkit } = config;
  const bare = { registry: { repository: registry.repository }, buildkit: { address: buildkit?.address } };
  expect(config).toEqual(KubernetesConfigSchema.parse(bare));
  const text = await readFile(example, 'utf8');
  const tables = z.object({ properties: z.record(z.string(), z.unknown()) });
  const names = (schema: unknown): string[] =>
    Object.entries(tables.safeParse(schema).data?.properties ?? {}).flatMap(([name, of]) => [
      name,
      ...names(of),
    ]);
  const all = names(z.toJSONSchema(KubernetesConfigSchema, { io: 'input' }));
  expect(all.length).toBeGreaterThan(15);
  expect(all.filter((name) => !new RegExp(`\\b${name}:`).test(text))).toEqual([]);
});
