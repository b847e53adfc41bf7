// terraform/ read by a real OpenTofu: its format, its syntax, and the whole configuration as a tree of modules.
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

const run = promisify(execFile);
const root = 'terraform';
const example = 'terraform/examples/complete';
/** Six minutes of CPU, once. */
const buildTimeoutMs = 1_500_000;

let tofu: string;
let folder: string;

beforeAll(async () => {
  tofu = (await run('sh', ['test/terraform/build-tofu.sh'])).stdout.trim();
  folder = await mkdtemp(path.join(tmpdir(), 'passband-tofu-'));
  await writeFile(path.join(folder, 'tofurc'), '');
}, buildTimeoutMs);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What it says, both streams; throws where it fails. Nothing is asked of any registry, and nothing is written in the tree. */
async function tofuSays(...args: string[]): Promise<string> {
  const env = {
    ...process.env,
    TF_CLI_CONFIG_FILE: path.join(folder, 'tofurc'),
    TF_DATA_DIR: path.join(folder, 'data'),
    CHECKPOINT_DISABLE: '1',
    TF_IN_AUTOMATION: '1',
  };
  try {
    const { stdout, stderr } = await run(tofu, args, { env });
    return `${stdout}${stderr}`;
  } catch (error) {
    const said = z.object({ stdout: z.string(), stderr: z.string() }).safeParse(error);
    throw said.success ? new Error(`${said.data.stdout}${said.data.stderr}`, { cause: error }) : error;
  }
}

/** Reads a configuration whole, its modules too, and names the providers that each module asks for. */
async function read(module: string): Promise<string> {
  await tofuSays(`-chdir=${module}`, 'get', '-no-color');
  return tofuSays(`-chdir=${module}`, 'providers', '-no-color');
}

test('is formatted, in every file', async () => {
  await expect(tofuSays('fmt', '-check', '-recursive', '-no-color', root)).resolves.toBe('');
});

test.each([root, example])(
  '%s is a configuration that OpenTofu reads, and asks for the aws provider alone',
  async (module) => {
    const providers = [...(await read(module)).matchAll(/provider\[([^\]]+)\]/g)].map(([, name]) => name);
    expect(new Set(providers).size).toBe(1);
    expect(providers[0]).toMatch(/\/hashicorp\/aws$/);
  },
);

describe('what is broken is seen', () => {
  test.each<[string, (text: string) => string, RegExp]>([
    ['a variable that is declared twice', (text) => `${text}\nvariable "bucket" {}\n`, /Duplicate variable/],
    [
      'a default that is not of its type',
      (text) => text.replace('= 90', '= "many"'),
      /Invalid default value/,
    ],
    ['a block that is not closed', (text) => `${text}\nlocals {\n`, /Unclosed configuration block/],
  ])('%s', async (_, broken, message) => {
    const copy = path.join(folder, 'copy');
    await cp(root, copy, { recursive: true });
    const file = path.join(copy, 'variables.tf');
    await writeFile(file, broken(await readFile(file, 'utf8')));
    try {
      await expect(read(path.join(copy, 'examples/complete'))).rejects.toThrow(message);
    } finally {
      await rm(copy, { recursive: true });
    }
  });

  test('a file that is not formatted', async () => {
    const file = path.join(folder, 'main.tf');
    await writeFile(file, 'locals {\n a=1\n}\n');
    await expect(tofuSays('fmt', '-check', '-no-color', file)).rejects.toThrow('main.tf');
  });
});
