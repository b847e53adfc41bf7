// The supervisor against the agent beside it: root inside can neither speak to PID 1, nor read it, nor end it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sh, withSandbox, type Harness } from '../sandbox/conformance/harness.ts';
import { engineHarness } from '../support/engine-harness.ts';

describe('the supervisor of the toolbox', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await engineHarness();
  });
  afterAll(() => harness.close());

  it('takes no connection of a process that was started inside, root or not', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      const root = await sh(sandbox, '/opt/passband/bin/supervisor connect < /dev/null');
      expect(root.exitCode).toBe(69);
      expect(root.err).toContain('not one that the engine started');
      const other = await sh(sandbox, 'ls /opt/passband/run', { user: 'nobody' });
      expect(other.err).toContain('Permission denied');
    });
  });

  it('cannot be read from inside', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      const { err } = await sh(sandbox, 'cat /proc/1/environ; cat /proc/1/mem; readlink -v /proc/1/exe');
      expect(err.match(/Permission denied/g)?.length).toBe(3);
    });
  });

  it('outlives every signal that can be sent from inside', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      const signals = Array.from({ length: 31 }, (_, i) => i + 1).join(' ');
      const { out } = await sh(sandbox, `for s in ${signals}; do kill -$s 1; done; sleep 0.3; echo lives`);
      expect(out).toBe('lives\n');
      expect(await sandbox.state()).toEqual({ kind: 'alive' });
    });
  });

  it('reaps what nobody waits for, and is the last to be taken for memory', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      await sh(sandbox, 'for i in $(seq 50); do (setsid sh -c "sleep 0.1; exit 3" &); done; sleep 0.6');
      const { out } = await sh(
        sandbox,
        'grep -l "^State:.Z" /proc/[0-9]*/status | wc -l; cat /proc/self/oom_score_adj',
      );
      expect(out).toBe('0\n300\n');
    });
  });

  it('gives an unknown program 127, one that cannot be executed 126, with the reason', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      const run = async (id: string, program: string) => {
        const { exitCode, stderr } = await sandbox.run({ id, argv: [program], timeoutMs: null });
        return [exitCode, Buffer.from(stderr).toString()];
      };
      expect(await run('a', 'no-such')).toEqual([127, expect.stringContaining('no-such')]);
      expect(await run('b', '/etc/passwd')).toEqual([126, expect.stringContaining('permission denied')]);
    });
  });

  it('runs a command whose output file cannot be made, and says so', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      await sh(sandbox, 'echo planted > /logs');
      const argv = ['/bin/echo', 'ran'];
      const result = await sandbox.run({ id: 'o', argv, timeoutMs: null, outputFile: '/logs/x/out.txt' });
      expect(Buffer.from(result.stdout).toString()).toBe('ran\n');
      expect(Buffer.from(result.stderr).toString()).toContain('outputFile');
    });
  });
});
