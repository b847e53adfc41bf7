// passband sweep list, watch and cancel where no sweep runs: what the store alone can say.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  cancelledNote,
  endedError,
  sweepCancelCommand,
  sweepListCommand,
  sweepWatchCommand,
} from '../../cli/sweep-control.ts';
import { planKey, verdictKey } from '../../domain/layout.ts';
import { PlanSchema } from '../../domain/sweep.ts';
import { VerdictSchema } from '../../domain/verdict.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import { putJson } from '../../store/objects.ts';
import { trialsOf } from '../../store/verdicts.ts';
import { planOf, verdictOf } from '../support/sweep-data.ts';

let dir: string;
let out: string;
let err: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'sweep-control-'));
  [out, err] = ['', ''];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((out += String(text)), true));
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((err += String(text)), true));
});
afterEach(async () => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
  await rm(dir, { recursive: true, force: true });
});

const plan = planOf({ sweep: 'first', tasks: 1, models: { small: 2 } });

async function keep(counted: number): Promise<void> {
  const store = openFilesystemStore(dir);
  await putJson(store, planKey('first'), PlanSchema, plan);
  for (const trial of [...trialsOf(plan)].slice(0, counted))
    await putJson(store, verdictKey(trial.path), VerdictSchema, verdictOf(trial, 'passed'));
}

it('watching a sweep that is complete prints what it came to', async () => {
  await keep(2);
  await sweepWatchCommand().parseAsync(['first', '--store', dir], { from: 'user' });
  expect(out).toContain('sweep first: 2 of 2 planned trials counted (coverage 1.000)');
  expect([err, process.exitCode]).toEqual(['sweep first is complete\n', undefined]);
});

it('cancelling a sweep that is complete cancels nothing', async () => {
  await keep(2);
  await sweepCancelCommand().parseAsync(['first', '--store', dir], { from: 'user' });
  expect([err, process.exitCode]).toEqual([
    'nothing to cancel: sweep first is complete (2 of 2 counted)\n',
    undefined,
  ]);
  await sweepCancelCommand().parseAsync(['first', '--store', dir, '--json'], { from: 'user' });
  expect(JSON.parse(out)).toEqual({ sweep: 'first', cancelled: false });
});

it.each([sweepWatchCommand, sweepCancelCommand])(
  'one that is not complete and does not run is said to go on by its command',
  async (command) => {
    await keep(1);
    await expect(command().parseAsync(['first', '--store', dir], { from: 'user' })).rejects.toMatchObject({
      message: `sweep first does not run on ${dir} (1 of 2 counted): the command that started it goes on with it; where it runs on a server of yours, name that with --temporal`,
      exitCode: 69,
    });
  },
);

it('a sweep whose command was ended is one that the same command goes on with', () => {
  expect(endedError({ counted: 1, planned: 2 })).toMatchObject({
    message: "the sweep's command was ended (1 of 2 counted): the same command goes on with it",
    exitCode: 69,
  });
});

it('a cancelled sweep is told with a command to paste', () => {
  const flags = { temporal: 'temporal:7233', namespace: 'team', store: 's3://b/p?region=eu' };
  expect(cancelledNote('first', flags)).toBe(
    "sweep first is being cancelled: passband sweep watch first --temporal temporal:7233 --namespace team --store 's3://b/p?region=eu' follows it to its end",
  );
  expect(cancelledNote('first', { namespace: 'default' })).toContain(': passband sweep watch first follows');
});

it('the list of a store that is not there says so, and one without sweeps is an empty table', async () => {
  const nowhere = path.join(dir, 'nowhere');
  await expect(sweepListCommand().parseAsync(['--store', nowhere], { from: 'user' })).rejects.toMatchObject({
    message: expect.stringMatching(/^no store at file:.*nowhere: /) as unknown,
  });
  await openFilesystemStore(dir).put('v1/store.json', Buffer.from('{}'));
  await sweepListCommand().parseAsync(['--store', dir], { from: 'user' });
  expect(out).toMatch(/^sweep +planned/);
});
