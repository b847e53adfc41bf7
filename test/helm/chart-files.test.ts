// What the chart takes over from the code is what the code says, and its schema lets nothing else through.
import { readFile, readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { chartFiles } from '../../bin/chart-files.ts';
import { KubernetesConfigSchema } from '../../k8s/config.ts';
import { permissions } from '../../k8s/permissions.ts';
import { version } from '../../cli/version.ts';

const chart = 'helm/passband';
const read = (name: string): Promise<string> => readFile(`${chart}/${name}`, 'utf8');

describe('generated files', () => {
  test('are up to date (else: node bin/chart-files.ts)', async () => {
    for (const [name, text] of await chartFiles()) expect(await read(name), name).toBe(text);
  });

  test('grant every right of k8s/permissions.ts, and no other', async () => {
    const Rules = z.array(
      z.strictObject({
        apiGroups: z.array(z.string()),
        resources: z.array(z.string()),
        verbs: z.array(z.string()),
      }),
    );
    const granted = await Promise.all(
      ['role-rules', 'cluster-role-rules'].map(async (name) =>
        Rules.parse(parse(await read(`files/${name}.yaml`))),
      ),
    );
    const rights = granted
      .flat()
      .flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`)),
        ),
      );
    const needed = permissions.flatMap(({ group, resource, verbs }) =>
      verbs.map((verb) => `${group}/${resource} ${verb}`),
    );
    expect(rights.toSorted()).toEqual(needed.toSorted());
  });
});

type Node = Readonly<Record<string, unknown>>;
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every schema of an object in a schema, by its place. */
function objects(value: unknown, place: string): readonly (readonly [string, Node])[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => objects(item, `${place}/${index}`));
  if (!isNode(value)) return [];
  const own = value['type'] === 'object' ? [[place, value] as const] : [];
  return [...own, ...Object.entries(value).flatMap(([key, inner]) => objects(inner, `${place}/${key}`))];
}

describe('values.schema.json', () => {
  test('is closed everywhere: an object says what it may hold, or of what type its values are', async () => {
    const found = objects(JSON.parse(await read('values.schema.json')), '');
    expect(found.length).toBeGreaterThan(15);
    for (const [place, schema] of found) {
      const more = schema['additionalProperties'];
      expect(more === false || (isNode(more) && Object.keys(more).length > 0), place).toBe(true);
    }
  });

  test('has every key of values.yaml, and values.yaml every key of it at the top', async () => {
    const { properties } = z
      .object({ properties: z.record(z.string(), z.unknown()) })
      .parse(JSON.parse(await read('values.schema.json')));
    expect(Object.keys(parse(await read('values.yaml')) as object).toSorted()).toEqual(
      Object.keys(properties).toSorted(),
    );
  });

  test("takes the driver's configuration as the driver does, less what the chart knows itself", async () => {
    const { properties } = z
      .object({
        properties: z.object({ kubernetes: z.object({ properties: z.record(z.string(), z.unknown()) }) }),
      })
      .parse(JSON.parse(await read('values.schema.json')));
    const left = new Set(['kubeconfig', 'namespace']);
    expect(Object.keys(properties.kubernetes.properties).toSorted()).toEqual(
      Object.keys(KubernetesConfigSchema.shape)
        .filter((key) => !left.has(key))
        .toSorted(),
    );
  });
});

describe('the chart', () => {
  test('has one kind a template, and the template its name', async () => {
    for (const name of await readdir(`${chart}/templates`)) {
      if (!name.endsWith('.yaml') || name === 'validations.yaml') continue;
      const kinds = [...(await read(`templates/${name}`)).matchAll(/^kind: (\w+)$/gm)].map(
        ([, kind]) => kind,
      );
      expect(kinds.map((kind) => `${kind?.toLowerCase() ?? ''}.yaml`)).toEqual([name]);
    }
  });

  test('installs the version that the project is', async () => {
    const { appVersion } = z.object({ appVersion: z.string() }).parse(parse(await read('Chart.yaml')));
    expect(appVersion).toBe(version);
  });
});
