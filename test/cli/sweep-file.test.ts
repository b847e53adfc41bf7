// The sweep file: what it takes, and the one line for what it does not.
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readSweepFile } from '../../cli/sweep-file.ts';
import { requestOf } from '../../cli/sweep-start.ts';
import { SweepFileSchema } from '../../cli/sweep-request.ts';
import { terminus2 } from '../../scaffolds/terminus-2/index.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'sweep-file-'));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function file(text: string): Promise<string> {
  const name = path.join(dir, 'sweep.yaml');
  await writeFile(name, text);
  return name;
}

describe('readSweepFile', () => {
  it('fills in every default and makes folders relative to the file', async () => {
    const request = await readSweepFile(
      await file('tasks: tasks\nmodels:\n  - name: m\n    endpoint: http://127.0.0.1:1/v1\nstore: results\n'),
    );
    expect(request).toMatchObject({
      tasks: path.join(dir, 'tasks'),
      store: path.join(dir, 'results'),
      attempts: 8,
      concurrency: 4,
      network: 'deny',
      sandbox: 'engine',
      scaffolds: [{ name: 'terminus-2', options: {} }],
    });
    expect(request.models[0]).toMatchObject({ name: 'm', revision: 'unstated', attempts: null });
  });

  it('keeps an object store’s URL as it is', async () => {
    const request = await readSweepFile(
      await file('tasks: t\nmodels: [{name: m}]\nstore: s3://bucket/prefix\n'),
    );
    expect(request.store).toBe('s3://bucket/prefix');
  });

  it('reads a prompt template that is named by its file, relative to the sweep file', async () => {
    await writeFile(path.join(dir, 'prompt.txt'), '{instruction}\n{terminal_state}\n');
    const request = await readSweepFile(
      await file(
        'tasks: t\nmodels: [{name: m}]\nscaffolds:\n  - name: terminus-2\n    options: {prompt: prompt.txt, max_turns: 3}\n  - nop\n',
      ),
    );
    expect(request.scaffolds).toEqual([
      {
        name: 'terminus-2',
        options: {
          prompt: {
            text: '{instruction}\n{terminal_state}\n',
            sha256: createHash('sha256').update('{instruction}\n{terminal_state}\n').digest('hex'),
          },
          max_turns: 3,
        },
      },
      { name: 'nop', options: {} },
    ]);
    expect(terminus2.parseOptions(request.scaffolds[0]?.options ?? {})).toMatchObject({ max_turns: 3 });
  });

  it('names file, line and key of a prompt template that cannot be read', async () => {
    const name = await file(
      'tasks: t\nmodels: [{name: m}]\nscaffolds:\n  - name: terminus-2\n    options:\n      prompt: none.txt\n',
    );
    await expect(readSweepFile(name)).rejects.toThrow(
      new RegExp(`^${name}:6: scaffolds\\.0\\.options\\.prompt: cannot be read .*none\\.txt`),
    );
  });

  it.each([
    ['models: [{name: m}]\n', ': tasks: it is missing; it takes text'],
    ['tasks: t\nmodels: m\n', ':2: models: it takes a list'],
    ['tasks: t\nmodels: []\n', ':2: models: it may not be empty'],
    ['tasks: t\nmodels: [{name: m}]\nclock: wall\n', ':3: clock: it takes charged or nominal'],
    [
      'tasks: t\nmodels: [{name: m}]\nscaffolds: [3]\n',
      ':3: scaffolds.0: it takes a name, or {name, options}',
    ],
    ['', ': tasks: it is missing; it takes text'],
  ])('says in words what is wrong with %j', async (text, message) => {
    const name = await file(text);
    await expect(readSweepFile(name)).rejects.toThrow(`${name}${message}`);
  });

  it('names file, line and key of an unknown key', async () => {
    const name = await file('tasks: t\nmodels:\n  - name: m\n    endpont: http://x/v1\n');
    await expect(readSweepFile(name)).rejects.toThrow(`${name}:4: models.0.endpont: unknown key`);
  });

  it('names file, line and key of a value that does not fit', async () => {
    const name = await file('tasks: t\nmodels: [{name: m}]\nattempts: 0\n');
    await expect(readSweepFile(name)).rejects.toThrow(new RegExp(`^${name}:3: attempts: `));
  });

  it('names the line of broken YAML', async () => {
    const name = await file('tasks: t\nmodels: [\n');
    await expect(readSweepFile(name)).rejects.toThrow(/sweep\.yaml:\d+: not valid YAML/);
  });

  it('refuses a key that stands twice', async () => {
    const name = await file('tasks: a\ntasks: b\nmodels: [{name: m}]\n');
    await expect(readSweepFile(name)).rejects.toThrow(/:2: not valid YAML: Map keys must be unique/);
  });

  it('says that a file is not there', async () => {
    await expect(readSweepFile(path.join(dir, 'none.yaml'))).rejects.toThrow(/none\.yaml: cannot be read/);
  });
});

describe('requestOf', () => {
  it('takes flags alone', async () => {
    const request = await requestOf(undefined, {
      tasks: 't',
      model: ['a=http://h:1/v1', 'known-rate-0.5'],
      scaffold: ['nop'],
      attempts: 2,
    });
    expect(request.models.map(({ name, endpoint }) => [name, endpoint])).toEqual([
      ['a', ['http://h:1/v1']],
      ['known-rate-0.5', null],
    ]);
    expect(request).toMatchObject({ tasks: 't', attempts: 2, scaffolds: [{ name: 'nop', options: {} }] });
  });

  it('takes replicas of a model: a list in a file, commas in a flag', async () => {
    const urls = ['http://h:1/v1', 'http://h:2/v1'];
    const name = await file(
      `tasks: t\nmodels:\n  - {name: m, endpoint: [${urls.join(', ')}], max_requests: 32}\n`,
    );
    expect(await requestOf(name, {})).toMatchObject({ models: [{ endpoint: urls, max_requests: 32 }] });
    expect(await requestOf(undefined, { tasks: 't', model: [`m=${urls.join(',')}`] })).toMatchObject({
      models: [{ endpoint: urls, max_requests: null }],
    });
  });

  it('takes the file of a cluster by flag over that of the sweep file', async () => {
    const name = await file('tasks: t\nmodels: [{name: m}]\nsandbox: kubernetes\nkubernetes: a.yaml\n');
    expect(await requestOf(name, {})).toMatchObject({ kubernetes: path.join(dir, 'a.yaml') });
    expect(await requestOf(name, { kubernetes: 'b.yaml' })).toMatchObject({
      sandbox: 'kubernetes',
      kubernetes: 'b.yaml',
    });
  });

  it('lets flags replace fields of a file', async () => {
    const name = await file('tasks: t\nmodels: [{name: m}]\nattempts: 3\n');
    expect(await requestOf(name, { attempts: 5 })).toMatchObject({ attempts: 5, models: [{ name: 'm' }] });
  });

  it.each([
    [{}, /give a sweep file, or --tasks DIR/],
    [{ tasks: 't' }, /no model to grade/],
    [{ tasks: 't', model: ['n', 'm=not a url'] }, /^--model m=not a url: it is not a URL: give/],
    [{ tasks: 't', model: ['=http://h:1/v1'] }, /^--model =http:\/\/h:1\/v1: a model needs a name/],
    [{ tasks: 't', model: ['m'], name: 'a/b' }, /^--name: it takes letters/],
    [{ tasks: 't', model: ['m'], concurrency: 5_000 }, /^--concurrency: it takes at most 2000/],
    [{ tasks: 't', model: ['m'], kubernetes: 'k.yaml' }, /^--kubernetes: .*add --sandbox kubernetes/],
  ])('names the flag that does not fit: %j', async (flags, message) => {
    await expect(requestOf(undefined, flags)).rejects.toThrow(message);
  });
});

it('the published JSON schema is the one that is used', async () => {
  const published: unknown = JSON.parse(await readFile('docs/sweep-file.schema.json', 'utf8'));
  expect(published).toEqual(JSON.parse(JSON.stringify(z.toJSONSchema(SweepFileSchema, { io: 'input' }))));
});
