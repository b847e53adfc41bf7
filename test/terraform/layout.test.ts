// terraform/ by its text: the same four files in every module, variables that are declared and used, rights that end at reading and writing.
import { readFile, readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';

const modules = ['terraform', 'terraform/examples/complete'];
const files = ['main.tf', 'outputs.tf', 'variables.tf', 'versions.tf'];

const textOf = async (module: string): Promise<string> =>
  (await Promise.all(files.map((file) => readFile(`${module}/${file}`, 'utf8')))).join('\n');
const named = (text: string, pattern: RegExp): readonly string[] =>
  [...new Set([...text.matchAll(pattern)].map(([, name]) => name ?? ''))].toSorted();

describe.each(modules)('%s', (module) => {
  test('has the four files and a README, and no fifth', async () => {
    const names = await readdir(module);
    expect(names.filter((name) => name.endsWith('.tf')).toSorted()).toEqual(files);
    expect(names).toContain('README.md');
  });

  test('declares every variable that it uses, and uses every one that it declares', async () => {
    const text = await textOf(module);
    expect(named(text, /\bvar\.(\w+)/g)).toEqual(named(text, /^variable "(\w+)"/gm));
  });

  test('says of every variable and output what it is, and of every variable its type', async () => {
    const text = await textOf(module);
    const blocks = text.split(/^(?=variable|output)/m).filter((block) => /^(variable|output) "/.test(block));
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) {
      expect(block).toMatch(/^ {2}description\s+= ".+"$/m);
      if (block.startsWith('variable')) expect(block).toMatch(/^ {2}type\s+= /m);
    }
  });

  test('refers to no resource or data source that is not declared', async () => {
    const text = await textOf(module);
    const declared = [...text.matchAll(/^(?:resource|data) "(\w+)" "(\w+)"/gm)].map(
      ([, type, name]) => `${type ?? ''}.${name ?? ''}`,
    );
    const used = named(text, /\b(aws_\w+\.\w+)/g);
    expect(used.filter((name) => !declared.includes(name))).toEqual([]);
  });
});

describe('the module', () => {
  test('is given no variable by the example that it does not declare, and every one without a default', async () => {
    const [root, example] = await Promise.all(modules.map(textOf));
    const block = /^module "passband" \{\n(.*?)^\}/ms.exec(example ?? '')?.[1] ?? '';
    const given = named(block, /^ {2}(\w+)\s+= /gm).filter((name) => name !== 'source');
    const variables = (root ?? '').split(/^(?=variable)/m).filter((text) => text.startsWith('variable "'));
    const nameOf = (text: string): string => /"(\w+)"/.exec(text)?.[1] ?? '';
    expect(variables.map(nameOf)).toEqual(expect.arrayContaining([...given]));
    const required = variables.filter((text) => !/^ {2}default\s+= /m.test(text)).map(nameOf);
    expect(required.length).toBeGreaterThan(0);
    expect(given).toEqual(expect.arrayContaining(required));
  });

  test('C86: lets the worker read, write and list, and never delete', async () => {
    const text = await readFile('terraform/main.tf', 'utf8');
    const policy = /^data "aws_iam_policy_document" "worker" \{\n(.*?)^\}/ms.exec(text)?.[1] ?? '';
    expect(named(policy, /"((?:s3|kms|iam|sts):[^"]+)"/g).filter((action) => action !== 's3:prefix')).toEqual(
      [
        'kms:Decrypt',
        'kms:GenerateDataKey',
        's3:AbortMultipartUpload',
        's3:GetObject',
        's3:ListBucket',
        's3:PutObject',
      ],
    );
  });

  test('keeps versions, and closes the bucket to the public in all four ways', async () => {
    const text = await readFile('terraform/main.tf', 'utf8');
    expect(text).toMatch(/versioning_configuration \{\n\s+status = "Enabled"/);
    for (const way of [
      'block_public_acls',
      'block_public_policy',
      'ignore_public_acls',
      'restrict_public_buckets',
    ]) {
      expect(text).toMatch(new RegExp(`${way}\\s+= true`));
    }
  });
});
