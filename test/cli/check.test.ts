// passband check: what is planned, and what is refused with file, key and line.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkCommand, formatCheck } from '../../cli/check.ts';
import { engineLacks } from '../../sandbox/engine/unsupported.ts';
import { checkTasks } from '../../tasks/check.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'check-'));
  await cp('examples/tasks/access-report', path.join(dir, 'good'), { recursive: true });
  await cp('examples/tasks/access-report', path.join(dir, 'gpu'), { recursive: true });
  const toml = await readFile(path.join(dir, 'gpu/task.toml'), 'utf8');
  await writeFile(
    path.join(dir, 'gpu/task.toml'),
    toml.replace('passband/access-report', 'passband/gpu').replace('cpus = 1', 'cpus = 1\ngpus = 1'),
  );
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
  process.exitCode = undefined;
});

it('rejects what the driver cannot run, by name and line, and says the three numbers', async () => {
  const report = await checkTasks(dir, { unsupported: (task) => engineLacks(task, 'deny') });
  expect(report.rejected).toMatchObject([
    { task: 'passband/gpu', reason: 'unsupported', file: 'gpu/task.toml', key: 'environment.gpus', line: 18 },
  ]);
  expect(formatCheck(report)).toMatch(
    /rejected: passband\/gpu: unsupported: gpu\/task\.toml:18 environment\.gpus: .*gpu/,
  );
  expect(formatCheck(report)).toMatch(/1 planned, 0 warned, 1 rejected$/);
});

it('exits 3 where a folder is rejected', async () => {
  await checkCommand().parseAsync([dir, '--json'], { from: 'user' });
  expect(process.exitCode).toBe(3);
});
