// A start that is refused writes nothing: a sweep that runs keeps its settings, a name stays free.
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SweepFileSchema, type SweepRequest } from '../../cli/sweep-request.ts';
import { runSweep, type RunEnd } from '../../cli/sweep-run.ts';
import { makePlan, readRequestedTasks } from '../../cli/plan.ts';
import { keepPlan, putSettings } from '../../cli/sweep-plan.ts';
import { planKey, settingsKey } from '../../domain/layout.ts';
import { takeLock, type HeldLock } from '../../embedded/temporal-lock.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import type { Store } from '../../store/port.ts';
import { listSweeps } from '../../store/verdicts.ts';
import { writeTasks } from '../support/small-tasks.ts';

const away = 'http://127.0.0.1:1/v1';
const address = '127.0.0.1:7399';

let dir: string;
let store: Store;
let tasks: string;
let said: string[];
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'passband-refused-'));
  store = openFilesystemStore(path.join(dir, 'store'));
  tasks = await writeTasks(path.join(dir, 'tasks'), { hello: {} });
  said = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(dir, { recursive: true, force: true });
});

const requestOf = (model: { readonly name: string; readonly endpoint?: string }, name = 's'): SweepRequest =>
  SweepFileSchema.parse({ name, tasks, models: [model], attempts: 1 });

// The engine's address is not asked before the lock is; the server's program is never reached.
const start = (request: SweepRequest): Promise<RunEnd> =>
  runSweep(request, store, {
    temporal: null,
    namespace: 'default',
    engine: 'tcp://127.0.0.1:1',
    storeUrl: path.join(dir, 'store'),
    seed: 7,
    splits: null,
    detach: false,
    gatesOnly: false,
    env: { PASSBAND_TEMPORAL_BINARY: '/bin/false' },
  });

/** Plan and settings as a start that was not refused leaves them. */
async function standing(request: SweepRequest, knownRateUrl: string | null): Promise<void> {
  const set = await readRequestedTasks(request, {});
  await keepPlan(store, await makePlan(request, set, store));
  await putSettings(store, request.name ?? '', request, { knownRateUrl, seed: 7, splits: null });
}

async function sweepsOf(): Promise<string[]> {
  const names = [];
  for await (const name of listSweeps(store)) names.push(name);
  return names;
}

async function withServerOfAnother(work: () => Promise<void>): Promise<void> {
  const folder = path.join(dir, 'store', '.passband');
  await mkdir(folder, { recursive: true });
  const lock: HeldLock = await takeLock(path.join(folder, 'temporal.lock'));
  await lock.serverStarted(process.pid, address);
  try {
    await work();
  } finally {
    await lock.release();
  }
}

const settings = (): Promise<string> => readFile(path.join(dir, 'store', settingsKey('s')), 'utf8');

it('where another command runs the embedded server, the settings of its sweep stay as they are', async () => {
  const request = requestOf({ name: 'known-rate-0.5' });
  await standing(request, 'http://127.0.0.1:2/v1');
  const before = await settings();
  await withServerOfAnother(async () => {
    const refused = start(request);
    await expect(refused).rejects.toMatchObject({ exitCode: 69 });
    await expect(refused).rejects.toThrow(
      `passband sweep watch s --store ${path.join(dir, 'store')} follows it`,
    );
    await expect(refused).rejects.not.toThrow('--temporal');
  });
  expect(await settings()).toBe(before);
});

it('where another command runs the embedded server, a new sweep leaves no name, and is told what works', async () => {
  await withServerOfAnother(async () => {
    const refused = start(requestOf({ name: 'known-rate-0.5' }, 'second'));
    await expect(refused).rejects.toThrow(': wait for its end, or give another --store');
    await expect(refused).rejects.toMatchObject({ exitCode: 69 });
  });
  expect(await sweepsOf()).toEqual([]);
  expect(await store.get(settingsKey('second'))).toBeNull();
});

it('a model that is not served burns no name, and its document says what stopped it', async () => {
  const end = await start(requestOf({ name: 'mistyped', endpoint: away }));
  expect(end).toMatchObject({
    summary: { sweep: 's', planned: 1, counted: 0 },
    stopped: { failureClass: 'ModelUnavailable' },
  });
  expect([await store.get(planKey('s')), await store.get(settingsKey('s'))]).toEqual([null, null]);
  expect(said.join('')).not.toContain('planned');
});

it('a model that is not served any more leaves the settings of before', async () => {
  await standing(requestOf({ name: 'm', endpoint: 'http://127.0.0.1:2/v1' }), null);
  const before = await settings();
  const end = await start(requestOf({ name: 'm', endpoint: away }));
  expect(end.stopped?.failureClass).toBe('ModelUnavailable');
  expect(await settings()).toBe(before);
});

it('another seed is refused before anything is started', async () => {
  const request = requestOf({ name: 'known-rate-0.5' });
  const set = await readRequestedTasks(request, {});
  await keepPlan(store, await makePlan(request, set, store));
  await putSettings(store, 's', request, { knownRateUrl: away, seed: 8, splits: null });
  await withServerOfAnother(async () => {
    await expect(start(request)).rejects.toThrow('was started with --seed 8');
  });
});

it('a known-rate model with a rate that is none is told what P is', async () => {
  await expect(start(requestOf({ name: 'known-rate-1.5' }))).rejects.toThrow(
    'model known-rate-1.5: a known-rate model is named known-rate-P with P from 0 to 1',
  );
});
