// The end of a session: each part is ended whatever the others come to, and nothing that fails hides how the sweep ended.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endSession } from '../../cli/session-end.ts';
import { ClassifiedError } from '../../domain/errors.ts';
import { interruptionKey } from '../../domain/layout.ts';
import { InterruptionSchema } from '../../domain/sweep.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import { readJson } from '../../store/objects.ts';
import type { Store } from '../../store/port.ts';

let root: string;
let store: Store;
let said: string[];
let stops: number;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'passband-session-end-'));
  store = openFilesystemStore(root);
  said = [];
  stops = 0;
});
afterEach(() => rm(root, { recursive: true, force: true }));

const noEngine = { sandbox: 'engine', engine: 'unix:///nowhere/engine.sock' } as const;
const stop = (): Promise<void> => {
  stops += 1;
  return Promise.resolve();
};
const worker = {
  pid: () => null,
  failed: new Promise<never>(() => undefined),
  stop: () => Promise.resolve(),
};
const of = (fields: { readonly store: Store }) => ({
  ...fields,
  storeId: 'store',
  sweep: 's',
  hurry: new AbortController().signal,
  say: (line: string): void => void said.push(line),
});

describe('endSession', () => {
  it('ends what was started where the store, the engine and the worker all fail', async () => {
    const away: Store = {
      ...store,
      url: 'away',
      put: () => Promise.reject(new ClassifiedError('StoreUnavailable', 'away')),
    };
    const broken = { ...worker, stop: () => Promise.reject(new Error('stuck')) };
    await endSession({ worker: broken, driver: noEngine, stop }, of({ store: away }));
    expect(stops).toBe(1);
    expect(said.map((line) => line.split(':')[0])).toEqual([
      'the worker did not end',
      'trials in flight will count this end as a loss',
      'sandboxes may be left on the engine',
    ]);
  });

  it('says what it could not end, and throws nothing over the error of the sweep', async () => {
    const stuck = (): Promise<void> => Promise.reject(new Error('the database is locked'));
    await endSession({ worker, driver: null, stop: stuck }, of({ store }));
    expect(said).toEqual(['not everything that this command started has ended: the database is locked']);
  });

  it('writes down that it removes the sandboxes of trials in flight', async () => {
    const before = Date.now();
    await endSession({ worker, driver: noEngine, stop }, of({ store }));
    const left = await readJson(store, interruptionKey('s'), InterruptionSchema);
    expect(Date.parse(left?.at ?? '')).toBeGreaterThanOrEqual(before);
  });

  it('says that sandboxes may be left on a cluster whose file is not there any more', async () => {
    const driver = { sandbox: 'kubernetes', kubernetes: path.join(root, 'gone.yaml') } as const;
    await endSession({ worker, driver, stop }, of({ store }));
    expect(said).toEqual([
      expect.stringMatching(/^sandboxes may be left on the cluster: .*gone\.yaml: cannot be read/),
    ]);
    expect(stops).toBe(1);
  });

  it('removes nothing where the engine is not its own', async () => {
    await endSession({ worker: null, driver: null, stop }, of({ store }));
    expect(await store.get(interruptionKey('s'))).toBeNull();
    expect([stops, said]).toEqual([1, []]);
  });
});
