// Commands and terminals that an agent asks for after it has been at work: nothing that it did keeps its trial from going on.
import { expect, it } from 'vitest';
import { scriptedSandbox } from '../../support/scripted-supervisor.ts';

const fault = (kind: string, message: string) => ({ ok: false, error: { kind, message } });
const exited = {
  ...{ ok: true, state: 'exited', exitCode: 0, signal: null, timedOut: false, wallMs: 3 },
  ...{ stdout: '', stderr: '', stdoutOmitted: 0, stderrOmitted: 0 },
};
const facts = { image: { user: '', workdir: '/app', entrypoint: [] } };
const command = { id: 'run-1-0', argv: ['sh'], timeoutMs: 1_000, stdin: Buffer.from('ls') };

it.each([
  ['is gone', fault('not-found', 'cwd: stat /app: no such file or directory')],
  ['leads to itself', fault('io', 'cwd: stat /app: too many levels of symbolic links')],
])('starts in / where its directory %s, once, with all of its input', async (_, refusal) => {
  const { attached, asked } = scriptedSandbox(
    { run: (request) => (request['cwd'] === '/' ? exited : refusal) },
    {},
    facts,
  );
  const result = await (await attached).run({ ...command, byAgent: true });
  expect(result).toMatchObject({ exitCode: 0, wallMs: 3 });
  const runs = asked.filter(({ op }) => op === 'run');
  expect(runs.map(({ cwd, id, stream }) => [cwd, id, stream])).toEqual([
    ['/app', 'run-1-0', true],
    ['/', 'run-1-0', true],
  ]);
});

it.each([
  fault('internal', '/etc/passwd is not a regular file'),
  fault('io', 'fork/exec /proc/self/exe: permission denied'),
  fault('limit', 'no process to be had'),
])('ends with 126 where nothing can be started any more: %o', async (refusal) => {
  const { attached } = scriptedSandbox({ run: [refusal] }, {}, facts);
  const result = await (await attached).run({ ...command, byAgent: true });
  expect(result).toMatchObject({ exitCode: 126, timedOut: false });
  expect(Buffer.from(result.stderr).toString()).toContain(refusal.error.message);
});

it.each(['io', 'internal', 'limit', 'not-found'])(
  'a terminal that cannot be started after an agent was at work is dead: %s',
  async (kind) => {
    const { attached } = scriptedSandbox({ 'terminal.start': [fault(kind, 'no such thing')] }, {}, facts);
    const options = { user: null, columns: 80, rows: 24, cwd: null, env: {}, limitBytes: 100, byAgent: true };
    const terminal = await (await attached).terminal(options);
    const { observation } = await terminal.act(1, [], null);
    expect(observation).toMatchObject({ alive: false, screen: 'passband: no terminal: no such thing' });
  },
);

it('a terminal that a fresh sandbox cannot start is a failure of it', async () => {
  const { attached } = scriptedSandbox({ 'terminal.start': [fault('limit', 'no process')] }, {}, facts);
  const options = { user: null, columns: 80, rows: 24, cwd: null, env: {}, limitBytes: 100 };
  await expect((await attached).terminal(options)).rejects.toMatchObject({ failureClass: 'ExecBroken' });
});
