// Conformance: a cut, a lost sandbox, a restarted, a replaced and a silent platform are told apart, and none reads as 0.
import { describe, expect, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxGone, type Sandbox } from '../../../sandbox/port.ts';
import { sh, withSandbox, type Harness, type Platform } from './harness.ts';

const long = (sandbox: Sandbox, seconds: number) =>
  sandbox.run({
    id: 'long',
    argv: ['/bin/sh', '-c', `sleep ${seconds}; echo x >> /root/count; echo ended; exit 9`],
    timeoutMs: null,
  });

/** How an operation ends that is under way when the world changes. */
async function during(sandbox: Sandbox, change: () => Promise<void> | void): Promise<unknown> {
  const running = long(sandbox, 60).then(
    (result) => result,
    (error: unknown) => error,
  );
  await sleep(500);
  await change();
  return running;
}

/** Where a sandbox's image has the supervisor. */
const program = '/opt/passband/bin/supervisor';

/** What a sandbox makes of a question while what runs in it does its worst. */
async function endOf(question: () => Promise<unknown>): Promise<unknown> {
  try {
    await question();
    return 'went on';
  } catch (error) {
    const own = error instanceof SandboxGone && error.state.kind === 'gone' && error.state.cause === 'self';
    return own ? 'gone by itself' : error;
  }
}

export function lossConforms(get: () => Harness, platform: Platform): void {
  describe('loss', () => {
    it('goes on with a command whose connection is cut, and runs it once (C37)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const running = long(sandbox, 2);
        for (let cuts = 0; cuts < 3; cuts += 1) {
          await sleep(400);
          get().outside.cut();
        }
        const result = await running;
        expect(result.exitCode).toBe(9);
        expect(Buffer.from(result.stdout).toString()).toBe('ended\n');
        expect((await sh(sandbox, 'cat /root/count')).out).toBe('x\n');
      });
    });

    it('is gone by the platform when it is killed from outside (C57)', async () => {
      await withSandbox(get(), 'debian', async (sandbox, { name }) => {
        expect(await during(sandbox, () => get().outside.kill(name))).toMatchObject({
          name: 'SandboxGone',
          state: { kind: 'gone', cause: 'platform', why: 'exited' },
        });
        expect(await sandbox.state()).toMatchObject({ kind: 'gone', cause: 'platform' });
        await expect(get().otherDriver.open(sandbox.identity)).rejects.toMatchObject({
          state: { kind: 'gone', cause: 'platform' },
        });
      });
    });

    it('is gone by the platform when it is deleted', async () => {
      await withSandbox(get(), 'debian', async (sandbox, { name }) => {
        const gone = { state: { kind: 'gone', cause: 'platform', why: 'deleted' } };
        // Between its end and its removal it may be seen as ended.
        expect(await during(sandbox, () => get().outside.delete(name))).toMatchObject({
          state: { kind: 'gone', cause: 'platform' },
        });
        expect(await sandbox.state()).toMatchObject(gone.state);
        await expect(sandbox.takeDelta(1, () => Promise.resolve())).rejects.toMatchObject(gone);
        await expect(get().otherDriver.open(sandbox.identity)).rejects.toMatchObject(gone);
      });
    });

    if (platform.restarts) {
      it('is not taken for alive when PID 1 was started anew (C38)', async () => {
        await withSandbox(get(), 'debian', async (sandbox, { name }) => {
          await get().outside.restart?.(name);
          expect(await sandbox.state()).toMatchObject({ kind: 'restarted' });
          await expect(sh(sandbox, 'true')).rejects.toMatchObject({ state: { kind: 'restarted' } });
          await expect(get().otherDriver.open(sandbox.identity)).rejects.toMatchObject({
            state: { kind: 'restarted' },
          });
        });
      });
    }

    it('is not taken for another one of its name (C39)', async () => {
      await withSandbox(get(), 'debian', async (sandbox, { name }) => {
        await get().outside.replace(name);
        expect(await sandbox.state()).toMatchObject({ kind: 'replaced' });
        await expect(sh(sandbox, 'true')).rejects.toMatchObject({ state: { kind: 'replaced' } });
        await expect(get().otherDriver.open(sandbox.identity)).rejects.toMatchObject({
          state: { kind: 'replaced' },
        });
      });
    });

    it('takes no signal from inside for its end: kill 1, kill -1 (C38)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(
          sandbox,
          'for s in TERM INT HUP QUIT KILL SEGV ABRT USR1 STOP; do kill -$s 1; done; kill -KILL -1',
        );
        expect(await sandbox.state()).toEqual({ kind: 'alive' });
        expect((await sh(sandbox, 'echo on')).out).toBe('on\n');
      });
    });

    it('is gone by itself when what runs inside deletes the toolbox and the connection', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(sandbox, 'rm -rf /opt/passband/bin /opt/passband/run');
        expect((await sh(sandbox, 'echo still')).out).toBe('still\n');
        get().outside.cut();
        await expect(sh(sandbox, 'echo on')).rejects.toMatchObject({
          name: 'SandboxGone',
          state: { kind: 'gone', cause: 'self' },
        });
      });
    });

    it('is gone by itself when what runs inside kills every connection (C38)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const loop = 'trap "" TERM HUP; while :; do kill -KILL -1; done';
        await sandbox.start({ id: 'killer', argv: ['/bin/sh', '-c', loop], user: 0 });
        await expect(sh(sandbox, 'echo on')).rejects.toMatchObject({
          name: 'SandboxGone',
          state: { kind: 'gone', cause: 'self' },
        });
      });
    });

    it('goes on, or is gone by itself, when what runs inside stops every connection (C38)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const loop = 'while :; do kill -STOP -1; done';
        await sandbox.start({ id: 'stopper', argv: ['/bin/sh', '-c', loop], user: 0 });
        get().outside.cut();
        expect(await endOf(() => sandbox.usage())).toMatch(/^(went on|gone by itself)$/);
      });
    });

    it('is gone by itself when a program that says nothing takes the supervisor place', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const silent = '#!/bin/sh\nexec sleep 3600';
        await sh(sandbox, `rm ${program}; printf '${silent}\n' > ${program}; chmod 755 ${program}`);
        get().outside.cut();
        expect(await endOf(() => sandbox.usage())).toBe('gone by itself');
      });
    });

    it('believes no answer that a program in the supervisor place changes on its way', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const change =
          'while (sysread(STDIN, $b, 65536)) { $b =~ s/exitCode":7/exitCode":0/; syswrite(STDOUT, $b) }';
        // It puts the true program back before it becomes that.
        const relay = `#!/bin/bash\nmv ${program}.true ${program}\nexec ${program} connect > >(perl -e '${change}')\n`;
        const script = `mv ${program} ${program}.true; cat > ${program} <<'END'\n${relay}END\nchmod 755 ${program}`;
        await sh(sandbox, script);
        get().outside.cut();
        const seen = sh(sandbox, 'exit 7').then(
          ({ exitCode }) => exitCode,
          (error: unknown) => error,
        );
        expect([7, expect.objectContaining({ state: { kind: 'gone', cause: 'self' } })]).toContainEqual(
          await seen,
        );
      });
    });

    it('believes no other program that answers in the supervisor place', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const fake = `printf '#!/bin/sh\\nprintf "\\\\000\\\\000\\\\000\\\\172R"; printf "%%-122s" "{\\"ok\\":true,\\"protocol\\":1,\\"bootId\\":\\"x\\",\\"uptimeMs\\":1,\\"env\\":{},\\"cwd\\":\\"/\\"}"; sleep 5\\n' > /opt/passband/bin/new; chmod 755 /opt/passband/bin/new; mv /opt/passband/bin/new /opt/passband/bin/supervisor`;
        await sh(sandbox, fake);
        get().outside.cut();
        await expect(sh(sandbox, 'echo on')).rejects.toMatchObject({
          state: { kind: 'gone', cause: 'self' },
        });
      });
    });

    it('says that the platform is not available when it is not, and goes on when it is back', async () => {
      await withSandbox(get(), 'debian', async (sandbox, spec) => {
        const silence = get().outside.vanish();
        try {
          const unavailable = { failureClass: 'PlatformUnavailable' };
          await expect(sh(sandbox, 'true')).rejects.toMatchObject(unavailable);
          await expect(sandbox.state()).rejects.toMatchObject(unavailable);
          await expect(get().driver.create({ ...spec, name: `${spec.name}-b` })).rejects.toMatchObject(
            unavailable,
          );
          await expect(get().driver.destroy(spec.name)).rejects.toMatchObject(unavailable);
        } finally {
          silence.back();
        }
        expect((await sh(sandbox, 'echo on')).out).toBe('on\n');
      });
    });
  });
}
