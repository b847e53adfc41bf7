// Conformance: commands run once, end with the status they had, and leave nothing behind when their time is up.
import { describe, expect, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command, Sandbox } from '../../../sandbox/port.ts';
import { sh, withSandbox, type Harness, type Platform } from './harness.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

const run = (sandbox: Sandbox, command: Partial<Command> & Pick<Command, 'id' | 'argv'>) =>
  sandbox.run({ timeoutMs: 60_000, ...command });

export function commandsConform(get: () => Harness, platform: Platform): void {
  describe('commands', () => {
    it('shows its commands nothing of the platform that it is on', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        expect((await sh(sandbox, 'env')).out).not.toMatch(/^(KUBERNETES|DOCKER|CONTAINER)_/m);
      });
    });

    it('gives argv as it is, without a shell, and both streams apart', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const argv = ['/usr/bin/printf', '[%s]', 'a b', '$HOME', '', '*', "'\n"];
        expect(text((await run(sandbox, { id: 'argv', argv })).stdout)).toBe("[a b][$HOME][][*]['\n]");
        const both = await sh(sandbox, 'echo out; echo err >&2; exit 7');
        expect(both).toMatchObject({ exitCode: 7, out: 'out\n', err: 'err\n' });
        expect(both.result).toMatchObject({ signal: null, timedOut: false });
      });
    });

    it('tells a signal, a command that is not there and one that may not run', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        expect((await sh(sandbox, 'kill -9 $$')).result).toMatchObject({ exitCode: 137, signal: 9 });
        expect((await run(sandbox, { id: 'none', argv: ['/no/such'] })).exitCode).toBe(127);
        expect((await run(sandbox, { id: 'deny', argv: ['/etc/passwd'] })).exitCode).toBe(126);
        const user = await run(sandbox, { id: 'user', argv: ['/bin/true'], user: 'nobody-of-that-name' });
        expect(user.exitCode).toBe(126);
        expect(text(user.stderr)).toMatch(/nobody-of-that-name/);
      });
    });

    describe('of an agent that has been at work', () => {
      const agent = { byAgent: true, argv: ['/bin/sh', '-c', 'pwd; cat'], stdin: Buffer.from('in') };

      it.each([
        ['is gone', 'rm -r /work/here'],
        ['leads to itself', 'rm -r /work/here && ln -s here /work/here'],
        ['is a file', 'rm -r /work/here && touch /work/here'],
      ])('starts in / where the directory %s', async (_, broken) => {
        const workdir = { workdir: '/work/here' };
        await withSandbox(
          get(),
          'debian',
          async (sandbox) => {
            expect((await sh(sandbox, `cd / && ${broken}`)).exitCode).toBe(0);
            const ran = await run(sandbox, { id: 'broken', ...agent });
            expect(ran).toMatchObject({ exitCode: 0, timedOut: false });
            expect(text(ran.stdout)).toBe('/\nin');
          },
          workdir,
        );
      });

      it.each([
        ['ln -sf passwd /etc/passwd', platform.followsAccounts],
        ['rm /etc/passwd && mkdir /etc/passwd', true],
      ])('cannot make a failure of the platform of its own accounts: %s', async (broken, keepsOut) => {
        await withSandbox(get(), 'debian', async (sandbox) => {
          expect((await sh(sandbox, broken)).exitCode).toBe(0);
          const ran = run(sandbox, { id: 'nobody', ...agent, user: 'nobody' });
          if (keepsOut) {
            await expect(ran).rejects.toMatchObject({
              state: { kind: 'gone', cause: 'self', why: 'exited' },
            });
            return;
          }
          expect(await ran).toMatchObject({ exitCode: 126, timedOut: false });
          expect(text((await ran).stderr)).toContain('/etc/passwd');
          expect(await sandbox.state()).toMatchObject({ kind: 'alive' });
        });
      });
    });

    it('gives stdin whole, and a closed one where none is given (C62)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const stdin = Buffer.from('one\ntwo\0three');
        expect(Buffer.from((await run(sandbox, { id: 'in', argv: ['cat'], stdin })).stdout)).toEqual(stdin);
        const empty = await run(sandbox, { id: 'empty', argv: ['cat'], timeoutMs: 10_000 });
        expect(empty).toMatchObject({ exitCode: 0, timedOut: false });
        const large = Buffer.alloc(3 * 1024 ** 2, 'x');
        const counted = await run(sandbox, { id: 'large', argv: ['wc', '-c'], stdin: large });
        expect(text(counted.stdout).trim()).toBe(String(large.length));
      });
    });

    it('ends a command that reads its stdin to the end, with its own status (C15)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        for (const bytes of [0, 1, 70_000, 3 * 1024 ** 2]) {
          const argv = ['/bin/sh', '-c', 'cat > /root/f; wc -c < /root/f; exit 4'];
          const ended = await run(sandbox, { id: `cat-${bytes}`, argv, stdin: Buffer.alloc(bytes, 'x') });
          expect(ended).toMatchObject({ exitCode: 4, timedOut: false });
          expect(text(ended.stdout)).toBe(`${bytes}\n`);
        }
      });
    });

    it('sets environment, user and directory, and takes the image environment alone where that is asked for', async () => {
      const env = { FROM_SPEC: 'spec', LD_LIBRARY_PATH: '/agent' };
      await withSandbox(
        get(),
        'debian',
        async (sandbox) => {
          const argv = [
            '/bin/sh',
            '-c',
            'echo "$FROM_SPEC|$FROM_COMMAND|$LD_LIBRARY_PATH|$HOME|$(id -un)|$PWD"',
          ];
          const plain = await run(sandbox, { id: 'env', argv, env: { FROM_COMMAND: 'c' } });
          expect(text(plain.stdout)).toBe('spec|c|/agent|/root|root|/work/here\n');
          const clean = await run(sandbox, {
            id: 'clean',
            argv,
            envBase: 'image',
            env: { FROM_COMMAND: 'c' },
          });
          expect(text(clean.stdout)).toBe('|c||/root|root|/work/here\n');
          const other = await run(sandbox, {
            id: 'who',
            argv: ['/bin/sh', '-c', 'id -un; pwd'],
            user: 'nobody',
            cwd: '/tmp',
          });
          expect(text(other.stdout)).toBe('nobody\n/tmp\n');
          const numeric = await run(sandbox, { id: 'uid', argv: ['id', '-u'], user: 4321 });
          expect(text(numeric.stdout)).toBe('4321\n');
        },
        { env, workdir: '/work/here' },
      );
    });

    it('runs as the user that the image names, and as root where that is asked for', async () => {
      await withSandbox(get(), 'user', async (sandbox) => {
        expect(sandbox.image).toMatchObject({
          user: 'app',
          workdir: '/home/app',
          entrypoint: ['/usr/bin/env'],
        });
        expect((await sh(sandbox, 'id -un; id -Gn; pwd; echo $HOME; touch /root/x')).out).toBe(
          'app\napp extra\n/home/app\n/home/app\n',
        );
        expect((await sh(sandbox, 'id -un; touch /root/x && echo done', { user: 'root' })).out).toBe(
          'root\ndone\n',
        );
      });
    });

    it('runs in an image that holds nothing but busybox', async () => {
      await withSandbox(get(), 'busybox', async (sandbox) => {
        const result = await run(sandbox, {
          id: 'bb',
          argv: ['/bin/busybox', 'sh', '-c', 'echo $0 works; exit 5'],
        });
        expect(result.exitCode).toBe(5);
        expect(text(result.stdout)).toContain('works');
      });
    });

    it('kills the whole tree when the time is up, those that left its session too (C24, C25)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const script = 'setsid sleep 611 & (sleep 612 & disown) 2>/dev/null; sh -c "sleep 613" & sleep 614';
        const begun = Date.now();
        const { result } = await sh(sandbox, `exec bash -c '${script}'`, { timeoutMs: 1_500 });
        expect(result).toMatchObject({ timedOut: true, exitCode: 137, signal: 9 });
        expect(result.wallMs).toBeGreaterThanOrEqual(1_400);
        expect(Date.now() - begun).toBeLessThan(10_000);
        const left =
          'for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done | grep -c "^sleep 61" || true';
        expect((await sh(sandbox, left)).out.trim()).toBe('0');
      });
    });

    it('ends a command whose time is up before it has begun', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const begun = Date.now();
        const ended = await Promise.all(
          [0, 0, 1, 1, 2, 2, 3, 4, 5].map((timeoutMs, at) =>
            run(sandbox, { id: `brief-${at}`, argv: ['sleep', '30'], timeoutMs }),
          ),
        );
        for (const one of ended) expect(one).toMatchObject({ timedOut: true, exitCode: 137 });
        expect(Date.now() - begun).toBeLessThan(10_000);
      });
    });

    it('ends with the main process: a child in the background that holds stdout goes on (C22)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const begun = Date.now();
        const { out, exitCode } = await sh(
          sandbox,
          '(while :; do date > /tmp/alive; sleep 0.1; done) & echo started',
        );
        expect({ out, exitCode }).toEqual({ out: 'started\n', exitCode: 0 });
        expect(Date.now() - begun).toBeLessThan(5_000);
        expect((await sh(sandbox, 'rm -f /tmp/alive; sleep 0.5; test -e /tmp/alive')).exitCode).toBe(0);
      });
    });

    it('keeps bytes that are not UTF-8, and the first and last of what has no end', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const bytes = await run(sandbox, { id: 'bytes', argv: ['printf', '\\377\\000\\301x'] });
        expect(Buffer.from(bytes.stdout)).toEqual(Buffer.from([0xff, 0, 0xc1, 0x78]));
        const argv = ['/bin/sh', '-c', 'echo first; head -c 200000000 /dev/zero; echo last'];
        const flood = await run(sandbox, { id: 'flood', argv, outputLimitBytes: 10_000 });
        expect(flood.exitCode).toBe(0);
        expect(flood.stdout.byteLength).toBeLessThanOrEqual(10_000);
        expect(flood.stdoutOmitted + flood.stdout.byteLength).toBe(200_000_011);
        expect(text(flood.stdout.subarray(0, 6))).toBe('first\n');
        expect(text(flood.stdout.subarray(-5))).toBe('last\n');
        const endless = await run(sandbox, { id: 'yes', argv: ['yes'], timeoutMs: 1_000 });
        expect(endless).toMatchObject({ timedOut: true });
        expect(endless.stdout.byteLength).toBeLessThanOrEqual(1024 ** 2);
      });
    });

    it('writes both streams into a file as well', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const argv = ['/bin/sh', '-c', 'echo out; echo err >&2'];
        await run(sandbox, { id: 'file', argv, outputFile: '/logs/out.txt' });
        expect((await sh(sandbox, 'sort /logs/out.txt')).out).toBe('err\nout\n');
      });
    });

    it('starts an id once: asked again it gives the same result, from another worker too (C37)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const command = {
          id: 'once',
          argv: ['/bin/sh', '-c', 'echo x >> /root/count; sleep 1; echo $$; exit 3'],
        };
        const other = await get().otherDriver.open(sandbox.identity);
        const both = await Promise.all([run(sandbox, command), run(other, command)]);
        const again = await run(sandbox, command);
        expect(new Set([...both, again].map(({ stdout }) => text(stdout))).size).toBe(1);
        expect(again.exitCode).toBe(3);
        expect((await sh(sandbox, 'wc -l < /root/count')).out.trim()).toBe('1');
        await other.close();
      });
    });

    it('runs many at once, and starts without waiting', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const outputs = await Promise.all(
          Array.from({ length: 20 }, async (_, at) =>
            (await sh(sandbox, `sleep 0.2; echo ${at}`)).out.trim(),
          ),
        );
        expect(outputs).toEqual(Array.from({ length: 20 }, (_, at) => String(at)));
        const begun = Date.now();
        await sandbox.start({ id: 'service', argv: ['/bin/sh', '-c', 'echo up > /root/service; sleep 600'] });
        expect(Date.now() - begun).toBeLessThan(3_000);
        await sandbox.start({
          id: 'service',
          argv: ['/bin/sh', '-c', 'echo twice >> /root/service; sleep 600'],
        });
        await sleep(300);
        expect((await sh(sandbox, 'cat /root/service')).out).toBe('up\n');
      });
    });

    it('stops waiting when it is told to, and the command goes on', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const command = { id: 'long', argv: ['/bin/sh', '-c', 'sleep 2; echo ended'], timeoutMs: null };
        await expect(sandbox.run(command, AbortSignal.timeout(300))).rejects.toThrow(/timeout|aborted/i);
        expect(text((await sandbox.run(command)).stdout)).toBe('ended\n');
      });
    });

    it('kills the command of an id with all that came of it, and none but that', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const forks = 'setsid sleep 621 & sh -c "sleep 622" & exec sleep 623';
        const killed = run(sandbox, { id: 'killed', argv: ['/bin/sh', '-c', forks] });
        await sandbox.start({ id: 'stays', argv: ['sleep', '631'] });
        await sleep(500);
        await sandbox.pause();
        await sandbox.kill('killed');
        await sandbox.resume();
        expect((await killed).exitCode).toBe(137);
        const left = 'for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done | grep "^sleep 6"';
        expect((await sh(sandbox, left)).out.trim()).toBe('sleep 631');
        await sandbox.kill('killed');
        await sandbox.kill('never-started');
      });
    });

    it('takes home and groups of the image environment from the image, whatever /etc/passwd has come to say', async () => {
      await withSandbox(get(), 'user', async (sandbox) => {
        const argv = ['/bin/sh', '-c', 'echo $HOME; id -G'];
        const clean = async (id: string, user: string | null) =>
          text((await run(sandbox, { id, argv, envBase: 'image', user })).stdout);
        const before = [await clean('a', null), await clean('b', 'app'), await clean('c', 'root')];
        const planted =
          'sed -i "s#^\\([^:]*:[^:]*:[^:]*:[^:]*:[^:]*\\):[^:]*:#\\1:/tmp/planted:#" /etc/passwd; ' +
          'echo "extra2:x:4242:app,root" >> /etc/group; useradd -M -d /tmp/planted later';
        await sh(sandbox, planted, { user: 'root' });
        expect((await sh(sandbox, 'echo $HOME')).out).toBe('/tmp/planted\n');
        expect([await clean('d', null), await clean('e', 'app'), await clean('f', 'root')]).toEqual(before);
        expect(await clean('g', 'later')).toContain('/tmp/planted');
      });
    });

    it('stops and continues all processes, and ends them all', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const ticks = 'setsid sh -c "while :; do echo x >> /tmp/tick; sleep 0.05; done" & echo ok';
        await sh(sandbox, ticks);
        const changes = 'wc -c < /tmp/tick; sleep 0.5; wc -c < /tmp/tick';
        const moved = async () => new Set((await sh(sandbox, changes)).out.trim().split('\n')).size === 2;
        await sandbox.pause();
        await sandbox.resume();
        expect(await moved()).toBe(true);
        await sandbox.pause();
        const before = await sandbox.listNames(['/tmp']);
        expect(before.get('/tmp')).toContain('tick');
        await sandbox.endProcesses();
        await sandbox.resume();
        expect(await moved()).toBe(false);
        expect((await sh(sandbox, 'ls -d /proc/[0-9]* | wc -l')).out.trim()).toMatch(/^[1-9]$/);
      });
    });
  });
}
