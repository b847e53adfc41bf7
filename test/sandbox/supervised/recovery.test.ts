import { afterEach, describe, expect, it, vi } from 'vitest';
import { ClassifiedError } from '../../../domain/errors.ts';
import { SandboxGone, type SandboxState } from '../../../sandbox/port.ts';
import { attach, type SupervisedSandbox } from '../../../sandbox/supervised/supervised-sandbox.ts';
import type { Link, StreamEnding } from '../../../sandbox/supervised/link.ts';
import { answer, hello, scriptedSupervisor, type Script } from '../../support/scripted-supervisor.ts';

interface World {
  state: SandboxState | Error;
  ending: () => StreamEnding;
  /** One script for each stream that is opened; the last one goes on. */
  scripts: Script[];
  opened: number;
  /** Who speaks over the first stream, the second ... */
  speaker: (stream: number) => string;
}

const usage = { ok: true, oomKills: 0, memoryPeakBytes: 1 };
const works: Script = ({ request }, stream) => answer(stream, request.op === 'hello' ? hello() : usage);
const cuts: Script = ({ request }, stream) => {
  if (request.op === 'hello') answer(stream, hello());
  else stream.end();
};

function linkOf(world: World): Link {
  return {
    startedAt: '2026-01-01T00:00:00Z',
    volumes: [],
    isolation: 'loopback',
    ownTargets: [],
    openStream: () => {
      const script = world.scripts[Math.min(world.opened, world.scripts.length - 1)] ?? works;
      world.opened += 1;
      return Promise.resolve({
        stream: scriptedSupervisor(script, world.speaker(world.opened)),
        ending: () => Promise.resolve(world.ending()),
      });
    },
    state: () => (world.state instanceof Error ? Promise.reject(world.state) : Promise.resolve(world.state)),
    diskBytes: () => Promise.resolve(7),
  };
}

const worldOf = (...scripts: Script[]): World => ({
  state: { kind: 'alive' },
  ending: () => ({ by: 'unknown', message: '' }),
  scripts,
  opened: 0,
  speaker: () => 'boot-1',
});

const facts = {
  image: { user: '', workdir: '/', entrypoint: [] },
  env: {},
  network: 'deny' as const,
  baseline: false,
};
const identity = { name: 'a', driver: 'engine', uid: 'u', host: 'h', imageDigest: 'd', bootId: null };

/** Runs what waits between tries at once. */
async function hurried<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers();
  const working = work();
  working.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(20_000);
  vi.useRealTimers();
  return working;
}

const attached = (world: World): Promise<SupervisedSandbox> => attach(linkOf(world), facts, identity);

afterEach(() => vi.useRealTimers());

describe('a supervised sandbox', () => {
  it('keeps one connection and asks everything over it', async () => {
    const world = worldOf(works);
    const sandbox = await attached(world);
    for (let asked = 0; asked < 5; asked += 1) expect((await sandbox.usage()).diskBytes).toBe(7);
    expect(world.opened).toBe(1);
  });

  it('opens more while it is busy, and no more than eight', async () => {
    const slow: Script = ({ request }, stream) =>
      request.op === 'hello' ? answer(stream, hello()) : void setTimeout(() => answer(stream, usage), 20);
    const world = worldOf(slow);
    const sandbox = await attached(world);
    await Promise.all(Array.from({ length: 40 }, () => sandbox.usage()));
    expect(world.opened).toBe(8);
  });

  it('asks again on a new connection after a cut (C37)', async () => {
    const world = worldOf(cuts, cuts, works);
    const sandbox = await attached(world);
    expect(await hurried(() => sandbox.usage())).toMatchObject({ oomKills: 0 });
    expect(world.opened).toBe(3);
  });

  it('is ExecBroken where it lives and no connection holds', async () => {
    const world = worldOf(cuts);
    const sandbox = await attached(world);
    await expect(hurried(() => sandbox.usage())).rejects.toMatchObject({ failureClass: 'ExecBroken' });
    expect(world.opened).toBe(4);
  });

  it('is gone, and not broken, where the driver says so', async () => {
    const world = worldOf(cuts);
    const sandbox = await attached(world);
    world.state = { kind: 'gone', cause: 'platform', why: 'deleted', reason: 'deleted' };
    await expect(hurried(() => sandbox.usage())).rejects.toEqual(new SandboxGone(world.state));
    expect(world.opened).toBe(1);
  });

  it('is unavailable where the driver itself cannot say', async () => {
    const world = worldOf(cuts);
    const sandbox = await attached(world);
    world.state = new ClassifiedError('PlatformUnavailable', 'no engine');
    await expect(hurried(() => sandbox.usage())).rejects.toBe(world.state);
  });

  it('is gone by itself where what runs inside ends every connection', async () => {
    const world = worldOf(cuts);
    const sandbox = await attached(world);
    world.ending = () => ({ by: 'inside', message: 'killed' });
    await expect(hurried(() => sandbox.usage())).rejects.toMatchObject({
      state: { kind: 'gone', cause: 'self', why: 'exited' },
    });
  });

  it('is gone by itself where what runs inside ended one connection, and the others are only lost', async () => {
    const world = worldOf(cuts);
    const sandbox = await attached(world);
    const endings: StreamEnding[] = [
      { by: 'unknown', message: 'silent' },
      { by: 'inside', message: 'killed' },
      { by: 'unknown', message: 'silent' },
    ];
    world.ending = () => endings.shift() ?? { by: 'unknown', message: 'silent' };
    await expect(hurried(() => sandbox.usage())).rejects.toMatchObject({
      state: { kind: 'gone', cause: 'self', reason: expect.stringContaining('killed') as string },
    });
    expect(world.opened).toBe(4);
  });

  it('goes on where what runs inside ended a connection and the next one holds', async () => {
    const world = worldOf(cuts, works);
    const sandbox = await attached(world);
    world.ending = () => ({ by: 'inside', message: 'killed' });
    expect(await hurried(() => sandbox.usage())).toMatchObject({ oomKills: 0 });
  });

  it('is gone by itself where something else answers in place of the supervisor', async () => {
    const world = worldOf(cuts);
    world.speaker = (stream) => (stream === 1 ? 'boot-1' : 'another');
    const sandbox = await attached(world);
    await expect(hurried(() => sandbox.usage())).rejects.toMatchObject({
      state: { kind: 'gone', cause: 'self' },
    });
  });

  it('is lost by the platform where its supervisor is of a version that signs nothing', async () => {
    const old = { ...identity, bootId: `2026-01-01T00:00:00Z/${'a'.repeat(32)}` };
    const attaching = attach(linkOf(worldOf(works)), facts, old);
    await expect(attaching).rejects.toMatchObject({ name: 'SandboxGone', state: { kind: 'replaced' } });
  });

  it('asks nothing more once it was closed', async () => {
    const world = worldOf(works);
    const sandbox = await attached(world);
    await sandbox.close();
    await expect(sandbox.usage()).rejects.toThrow(/closed by its user/);
    expect(world.opened).toBe(1);
  });

  it('has a refusal for its own failure, and no new try', async () => {
    const refuses: Script = ({ request }, stream) =>
      answer(
        stream,
        request.op === 'hello' ? hello() : { ok: false, error: { kind: 'io', message: 'disk' } },
      );
    const world = worldOf(refuses);
    const sandbox = await attached(world);
    await expect(sandbox.usage()).rejects.toMatchObject({ failureClass: 'ExecBroken' });
    expect(world.opened).toBe(1);
  });

  it('does not read a missing status as 0: a lost job is ExecBroken (C37, C57)', async () => {
    const lost: Script = ({ request }, stream) =>
      answer(stream, request.op === 'hello' ? hello() : { ok: true, state: 'lost', message: 'dropped' });
    const sandbox = await attached(worldOf(lost));
    const command = { id: 'x', argv: ['true'], timeoutMs: null };
    await expect(sandbox.run(command)).rejects.toMatchObject({ failureClass: 'ExecBroken' });
  });

  it('asks again while a command runs, with its stdin the first time only', async () => {
    const bodies: number[] = [];
    const exited = {
      ok: true,
      state: 'exited',
      exitCode: 3,
      signal: null,
      timedOut: false,
      wallMs: 1,
      stdout: 'aGk=',
    };
    const runs: Script = ({ request, body }, stream) => {
      if (request.op === 'hello') {
        answer(stream, hello());
        return;
      }
      bodies.push(body.length);
      const done = { ...exited, stderr: '', stdoutOmitted: 0, stderrOmitted: 0 };
      answer(stream, bodies.length < 3 ? { ok: true, state: 'running' } : done);
    };
    const sandbox = await attached(worldOf(runs));
    const result = await sandbox.run({
      id: 'x',
      argv: ['cat'],
      stdin: Buffer.from('12345'),
      timeoutMs: null,
    });
    expect(result).toMatchObject({ exitCode: 3, signal: null });
    expect(Buffer.from(result.stdout).toString()).toBe('hi');
    expect(bodies).toEqual([5, 0, 0]);
  });

  it('ends a command that could not be started as a shell would: an agent may have taken its user away', async () => {
    const refuses: Script = ({ request }, stream) =>
      answer(
        stream,
        request.op === 'hello'
          ? hello()
          : { ok: false, error: { kind: 'not-found', message: 'no user "x"' } },
      );
    const sandbox = await attached(worldOf(refuses));
    const result = await sandbox.run({ id: 'x', argv: ['true'], user: 'x', timeoutMs: null });
    expect(result.exitCode).toBe(126);
    expect(Buffer.from(result.stderr).toString()).toContain('no user "x"');
  });
});
