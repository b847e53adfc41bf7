// Whose doing it is that no process starts or lives in a sandbox: its own only where one does beside it.
import { afterEach, describe, expect, it } from 'vitest';
import { Engine } from '../../../sandbox/engine/engine.ts';
import { EngineLink } from '../../../sandbox/engine/engine-link.ts';
import { ConnectionEnded } from '../../../sandbox/supervised/connections.ts';
import { supervisorFaultStatus } from '../../../sandbox/supervised/supervisor.ts';
import { ConnectionLost } from '../../../sandbox/protocol/frames.ts';
import { scriptedEngine, type EngineAnswer, type ScriptedEngine } from '../../support/scripted-engine.ts';

let engine: ScriptedEngine;
afterEach(async () => {
  await engine.close();
});

const state = { Status: 'running', Running: true, OOMKilled: false, ExitCode: 0, StartedAt: 'then' };
const container = {
  Id: 'c1',
  Name: '/pb-1-agent',
  Image: 'sha256:1',
  State: state,
  Config: { Labels: { 'passband.generation': '1' } },
};
const refusal = (message: string): EngineAnswer => ({ status: 500, body: { message } });

interface Scene {
  /** The answer to the start of an exec in the sandbox, and how the exec ended. */
  readonly start: EngineAnswer;
  readonly exitCode?: number;
  /** The answers to the control container's creation and exec. */
  readonly create?: EngineAnswer;
  readonly controlExec?: EngineAnswer;
  readonly controlExitCode?: number;
  /** The container's own state and log, where it does not run as it did. */
  readonly state?: typeof state;
  readonly log?: string;
}

async function linkTo(scene: Scene): Promise<EngineLink> {
  const { start, exitCode = 0, create, controlExec, controlExitCode = 0 } = scene;
  engine = await scriptedEngine((call) => {
    if (call === 'GET /containers/c1/json')
      return { status: 200, body: { ...container, State: scene.state ?? state } };
    if (call === 'GET /containers/c1/logs') return { status: 200, body: scene.log };
    if (call === 'POST /containers/c1/exec') return { status: 201, body: { Id: 'e1' } };
    if (call === 'POST /exec/e1/start') return start;
    if (call === 'GET /exec/e1/json') return { status: 200, body: { Running: false, ExitCode: exitCode } };
    if (call === 'POST /containers/create') return create ?? { status: 201, body: { Id: 'control' } };
    if (/^POST .*-control-.*start$/.test(call)) return { status: 204 };
    if (/^POST .*-control-.*exec$/.test(call)) return controlExec ?? { status: 201, body: { Id: 'e2' } };
    if (call === 'POST /exec/e2/start') return { status: 101 };
    if (call === 'GET /exec/e2/json')
      return { status: 200, body: { Running: false, ExitCode: controlExitCode } };
    if (/^DELETE .*-control-/.test(call)) return { status: 204 };
    return undefined;
  });
  return new EngineLink(new Engine(engine.endpoint), {
    id: 'c1',
    name: 'pb-1-agent',
    startedAt: 'then',
    diskMiB: 100,
    volumes: [],
  });
}

const refused = async (scene: Scene): Promise<unknown> => {
  const link = await linkTo(scene);
  return link.openStream().then(
    () => 'opened',
    (error: unknown) => error,
  );
};

const words = [
  'runc: exec failed: fork/exec /proc/self/exe: resource temporarily unavailable',
  'exec failed: cannot allocate memory',
  'exec: "/opt/passband/bin/supervisor": permission denied',
  'default OCI runtime "runc" not found: no such file or directory',
  'SecureJoin /var/lib/containers/storage/overlay/0f/merged/passwd/: too many levels of symbolic links',
  'unable to find user 0: read /var/lib/containers/storage/overlay/0f/merged/etc/passwd: is a directory',
  'unable to find user root: no matching entries in passwd file',
];

describe('an exec that is refused in a sandbox that lives', () => {
  it.each(words)('is its own doing where a container beside it takes one: %s (C38)', async (message) => {
    const error = await refused({ start: refusal(message) });
    expect(error).toBeInstanceOf(ConnectionEnded);
    expect(engine.asked.filter((call) => call.startsWith('DELETE'))).toHaveLength(1);
  });

  it.each(words)('is the machine where no other container can be made: %s (C38)', async (message) => {
    const error = await refused({ start: refusal(message), create: refusal(message) });
    expect(error).toBeInstanceOf(ConnectionLost);
    expect(error).not.toBeInstanceOf(ConnectionEnded);
  });

  it('is the machine where no other container takes an exec, or the toolbox does not run there either', async () => {
    const [start] = words.map(refusal);
    if (start === undefined) throw new Error('a refusal was asked for');
    const elsewhere = await refused({ start, controlExec: start });
    expect(elsewhere).not.toBeInstanceOf(ConnectionEnded);
    await engine.close();
    const broken = await refused({ start, controlExitCode: 126 });
    expect(broken).not.toBeInstanceOf(ConnectionEnded);
  });
});

describe('a connection that ended', () => {
  const ended = async (scene: Omit<Scene, 'start'>) => {
    const link = await linkTo({ start: { status: 101 }, ...scene });
    const opened = await link.openStream();
    return opened.ending();
  };

  it.each([137, 69, 2, 127])(
    'with status %i was ended from inside where a container beside it keeps its processes (C38)',
    async (exitCode) => {
      expect(await ended({ exitCode })).toMatchObject({ by: 'inside' });
    },
  );

  it.each([137, 69, 2, 127])(
    'with status %i may be the machine ending processes where none lives beside it',
    async (exitCode) => {
      expect(await ended({ exitCode, controlExitCode: 137 })).toMatchObject({ by: 'unknown' });
      await engine.close();
      expect(await ended({ exitCode, create: refusal('no space') })).toMatchObject({ by: 'unknown' });
    },
  );

  it.each([0, 74, 141])('with status %i was cut, and nothing beside it is asked', async (exitCode) => {
    expect(await ended({ exitCode })).toMatchObject({ by: 'unknown' });
    expect(engine.asked).not.toContain('POST /containers/create');
  });
});

describe('a PID 1 that ended for a fault of its own', () => {
  it('is the platform, with the last words of its log', async () => {
    const words = Buffer.from('supervisor: a fault of PID 1 itself: index out of range\n');
    const header = Buffer.alloc(8);
    header.writeUInt32BE(words.length, 4);
    const link = await linkTo({
      start: { status: 101 },
      state: { ...state, Status: 'exited', Running: false, ExitCode: supervisorFaultStatus },
      log: Buffer.concat([header, words]).toString('latin1'),
    });
    expect(await link.state()).toMatchObject({
      cause: 'platform',
      reason: expect.stringMatching(/fault of its own: .*index out of range$/) as string,
    });
  });
});
