// Sets of tasks: everything is planned or rejected by name, nothing is left out in silence.
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../domain/errors.ts';
import { RejectionSchema } from '../../domain/sweep.ts';
import { checkTasks } from '../../tasks/check.ts';
import { readTaskSet } from '../../tasks/task-set.ts';
import { makeFolder, makeTask, setOf } from './task-folder.ts';

describe('a set of tasks', () => {
  it('plans or rejects every child folder, with file, key, line and reason', async () => {
    const dir = await makeFolder({
      ...setOf({
        'b-good': {},
        'a-good': { 'task.toml': '[task]\nname = "org/first"\n' },
        'bad-key': { 'task.toml': '[task]\nname = "org/bad"\n[agent]\ntimeout_sec = 0\n' },
        'bad-toml': { 'task.toml': 'version = "1.0"\n[agent]\n[agent]\n' },
        'no-tests': { 'tests/test.sh': null },
        'no-toml': { 'task.toml': null },
        'same-name': { 'task.toml': '[task]\nname = "org/first"\n' },
      }),
      'README.md': 'A set.\n',
    });
    await mkdir(join(dir, 'empty'));
    await mkdir(join(dir, '.git'));
    const set = await readTaskSet(dir);
    expect(set.tasks.map(({ task }) => task.name)).toEqual(['org/first', 'b-good']);
    expect(set.rejected.map(({ task, file, key, line, reason }) => [task, file, key, line, reason])).toEqual([
      ['org/bad', 'bad-key/task.toml', 'agent.timeout_sec', 4, 'invalid'],
      ['bad-toml', 'bad-toml/task.toml', null, 3, 'invalid'],
      ['empty', 'empty/task.toml', null, null, 'invalid'],
      ['no-tests', 'no-tests/tests/test.sh', null, null, 'invalid'],
      ['no-toml', 'no-toml/task.toml', null, null, 'invalid'],
      ['org/first', 'same-name/task.toml', 'task.name', 2, 'duplicate'],
    ]);
    expect(set.tasks.length + set.rejected.length).toBe(8);
    expect(set.messages).toContainEqual(expect.objectContaining({ file: '.git', severity: 'warning' }));
    for (const rejection of set.rejected) expect(RejectionSchema.parse(rejection)).toEqual(rejection);
  });

  it('is one task where the folder is a task itself', async () => {
    const dir = await makeTask();
    const set = await readTaskSet(dir);
    expect(set.tasks.map((task) => task.dir)).toEqual([dir]);
    expect(set.rejected).toEqual([]);
  });

  it('says that a task inside a task is not planned by itself', async () => {
    const dir = await makeFolder({
      ...setOf({ outer: {}, 'outer/inner': {} }),
      'group/one/task.toml': 'version = "1.0"\n',
      'outer/environment/sample/task.toml': 'version = "1.0"\n',
    });
    const set = await readTaskSet(dir);
    expect(set.tasks.map(({ task }) => task.name)).toEqual(['outer']);
    expect(set.rejected.map(({ task }) => task)).toEqual(['group']);
    expect(set.messages.filter(({ reason }) => reason.includes('inside')).map(({ file }) => file)).toEqual([
      'group/one/task.toml',
      'outer/inner/task.toml',
    ]);
  });

  it('follows links to task folders', async () => {
    const elsewhere = await makeTask();
    const dir = await makeFolder(setOf({ here: {} }));
    await symlink(elsewhere, join(dir, 'linked'));
    expect((await readTaskSet(dir)).tasks.map(({ task }) => task.name)).toEqual(['here', 'linked']);
  });

  it('names a task.toml that is no file', async () => {
    const dir = await makeFolder(setOf({ odd: { 'task.toml': null, 'task.toml/x': '' } }));
    expect((await readTaskSet(dir)).rejected[0]).toMatchObject({
      task: 'odd',
      file: 'odd/task.toml',
      message: 'cannot be read (EISDIR)',
    });
  });

  it('rejects what a driver cannot run, by the need and its line', async () => {
    const dir = await makeFolder(
      setOf({
        plain: {},
        gpu: { 'task.toml': '[environment]\ncpus = 2\ngpus = 1\n' },
        compose: { 'environment/docker-compose.yaml': 'services: {main: {build: .}, db: {image: x}}\n' },
      }),
    );
    const set = await readTaskSet(dir, { unsupported: (task) => task.needs });
    expect(set.tasks.map(({ task }) => task.name)).toEqual(['plain']);
    expect(set.rejected).toEqual([
      {
        task: 'compose',
        file: 'compose/environment/docker-compose.yaml',
        key: 'services',
        line: null,
        reason: 'unsupported',
        message: 'needs compose, which this driver cannot give',
      },
      {
        task: 'gpu',
        file: 'gpu/task.toml',
        key: 'environment.gpus',
        line: 3,
        reason: 'unsupported',
        message: 'needs gpu, which this driver cannot give',
      },
    ]);
  });

  it('is refused in one line where it is not there, no folder, or empty', async () => {
    const dir = await makeFolder({ file: '', 'sub/.hidden/x': '' });
    for (const path of ['gone', 'file', 'sub']) {
      const failure = await readTaskSet(join(dir, path)).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(InputError);
      expect(String(failure)).toContain(path);
      expect(String(failure)).not.toContain('\n');
    }
  });
});

describe('a check', () => {
  it('counts planned, warned and rejected tasks, and keeps every message', async () => {
    const dir = await makeFolder(
      setOf({
        good: {},
        odd: { 'task.toml': '[agent]\ntimeout_secs = 5\n' },
        broken: { 'task.toml': '[agent]\ntimeout_sec = 0\n[verifier]\ntimeout_sec = 0\n' },
      }),
    );
    const report = await checkTasks(dir);
    expect(report.planned.map(({ task }) => task)).toEqual(['good', 'odd']);
    expect(report.planned[0]?.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(report.warned).toEqual(['odd']);
    expect(report.rejected).toEqual([
      {
        task: 'broken',
        file: 'broken/task.toml',
        key: 'agent.timeout_sec',
        line: 2,
        reason: 'invalid',
        message: 'must be a finite number greater than 0 (it is 0) (and 1 more)',
      },
    ]);
    expect(report.messages.map(({ task, file, line }) => [task, file, line])).toEqual([
      ['broken', 'broken/task.toml', 2],
      ['broken', 'broken/task.toml', 4],
      ['odd', 'odd/task.toml', 2],
    ]);
  });

  it('rejects under strict what it only warned of (C04)', async () => {
    const dir = await makeTask({ 'task.toml': 'version = "1.0"\n[envirnoment]\n' });
    const report = await checkTasks(dir, { strict: true });
    expect(report.planned).toEqual([]);
    expect(report.rejected).toEqual([
      expect.objectContaining({ file: 'task.toml', key: 'envirnoment', line: 2, reason: 'invalid' }),
    ]);
  });
});
