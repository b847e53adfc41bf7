// Connections of a process: shared by phases, never closed under an activity that uses them.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { SandboxPool } from '../../activities/sandbox-pool.ts';
import type { SandboxSpec } from '../../sandbox/port.ts';
import { FakeSandbox, fakeDriver, quiet, type FakeDriver } from './fake-driver.ts';

const specOf = (name: string): SandboxSpec => ({
  name,
  image: { reference: 'r', digest: 'sha256:1' },
  labels: {},
  cpus: 1,
  memoryMiB: 64,
  diskMiB: 64,
  pids: 64,
  env: {},
  workdir: null,
  network: 'deny',
  baseline: true,
  lifetimeSec: 60,
});

let driver: FakeDriver;
let pool: SandboxPool;
const closed: string[] = [];
beforeEach(() => {
  closed.length = 0;
  driver = fakeDriver(() => quiet);
  pool = new SandboxPool(driver, 2);
});

async function made(name: string): Promise<FakeSandbox> {
  const sandbox = await driver.create(specOf(name));
  if (!(sandbox instanceof FakeSandbox)) throw new Error('the fake driver makes fakes');
  vi.spyOn(sandbox, 'close').mockImplementation(() => {
    closed.push(name);
    return Promise.resolve();
  });
  return sandbox;
}

/** An activity that opens a sandbox and ends. */
async function used(name: string): Promise<void> {
  const { identity } = await made(name);
  const view = pool.forActivity();
  await view.open(identity);
  await view.end();
}

describe('the connections of a worker', () => {
  it('closes none that an activity uses, however many others come and go', async () => {
    const episode = pool.forActivity();
    await episode.open((await made('long')).identity);
    for (const name of ['a', 'b', 'c', 'd', 'e']) await used(name);
    expect(closed).toEqual(['a', 'b', 'c']);
    await episode.end();
    await used('f');
    expect(closed).toContain('long');
  });

  it('keeps what was used last: opening again counts as a use', async () => {
    await used('a');
    await used('b');
    await used('a');
    await used('c');
    expect(closed).toEqual(['b']);
  });

  it('is one for all who use a sandbox, and stays while one of them does', async () => {
    pool = new SandboxPool(driver, 0);
    const { identity } = await made('shared');
    const [first, second] = [pool.forActivity(), pool.forActivity()];
    expect(await first.open(identity)).toBe(await second.open(identity));
    await first.end();
    expect(closed).toEqual([]);
    await second.end();
    expect(closed).toEqual(['shared']);
  });

  it('keeps the connection in use where the same sandbox is connected to once more', async () => {
    const sandbox = await made('a');
    const view = pool.forActivity();
    await view.keep(sandbox);
    const again = new FakeSandbox(specOf('a'), quiet);
    const close = vi.spyOn(again, 'close');
    expect(await pool.forActivity().keep(again)).toBe(sandbox);
    expect(close).toHaveBeenCalledOnce();
    expect(closed).toEqual([]);
  });
});
