// Conformance: a sandbox uses what it was given, and what it takes beyond that is its own end or its child's.
import { describe, expect, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { sh, withSandbox, type Harness, type Platform } from './harness.ts';

export function limitsConform(get: () => Harness, platform: Platform): void {
  describe('limits', () => {
    const hog = `perl -e '$x = "a" x 500_000_000; print "fits"'; echo survived $?`;
    if (platform.memoryEnds === 'process') {
      it('ends a child that takes more memory than there is, counts it, and goes on (C40)', async () => {
        await withSandbox(
          get(),
          'debian',
          async (sandbox) => {
            expect((await sh(sandbox, hog)).out).toBe('survived 137\n');
            expect(await sandbox.state()).toEqual({ kind: 'alive' });
            const { oomKills } = await sandbox.usage();
            expect(oomKills === null || oomKills >= 1).toBe(true);
            expect((await sh(sandbox, 'echo on')).out).toBe('on\n');
          },
          { memoryMiB: 96 },
        );
      });
    } else {
      it('is gone by itself when what runs inside takes more memory than there is (C40)', async () => {
        await withSandbox(
          get(),
          'debian',
          async (sandbox) => {
            const gone = { kind: 'gone', cause: 'self', why: 'oom' };
            await expect(sh(sandbox, hog)).rejects.toMatchObject({ state: gone });
            expect(await sandbox.state()).toMatchObject(gone);
          },
          { memoryMiB: 96 },
        );
      });
    }

    it(`${platform.limitsPids ? 'refuses processes beyond their number' : 'lets many processes start'}, ends them all, and goes on`, async () => {
      await withSandbox(
        get(),
        'debian',
        async (sandbox) => {
          await sh(sandbox, 'i=0; while [ $i -lt 300 ]; do sleep 300 & i=$((i+1)); done', {
            timeoutMs: 20_000,
          });
          // Asked of PID 1, which starts no process for it.
          const names = (await sandbox.listNames(['/proc'])).get('/proc') ?? [];
          const processes = names.filter((name) => /^\d+$/.test(name)).length;
          if (platform.limitsPids) expect(processes).toBeLessThanOrEqual(100);
          else expect(processes).toBeGreaterThan(300);
          await sandbox.endProcesses();
          expect((await sh(sandbox, 'echo on')).out).toBe('on\n');
        },
        { pids: 100 },
      );
    });

    it(
      'tells its files by their size, and ends where they outgrow their limit',
      async () => {
        await withSandbox(
          get(),
          'debian',
          async (sandbox) => {
            const before = (await sandbox.usage()).diskBytes ?? 0;
            await sh(sandbox, 'head -c 30000000 /dev/urandom > /root/some');
            const { diskBytes } = await sandbox.usage();
            if (diskBytes !== null) expect(diskBytes - before).toBeGreaterThan(29_000_000);
            expect(await sandbox.state()).toEqual({ kind: 'alive' });
            const wrote = await sh(sandbox, 'head -c 200000000 /dev/zero > /root/full');
            // A quota of the storage refuses the write; without one the sandbox is ended when it is noticed.
            if (wrote.exitCode !== 0) return;
            const until = Date.now() + platform.diskNoticeMs;
            while (Date.now() < until && (await sandbox.state()).kind === 'alive') await sleep(500);
            expect(await sandbox.state()).toMatchObject({ kind: 'gone', cause: 'self', why: 'disk' });
            await expect(sh(sandbox, 'echo on')).rejects.toMatchObject({ state: { why: 'disk' } });
          },
          { diskMiB: 100 },
        );
      },
      120_000 + platform.diskNoticeMs,
    );

    it('has connections that hold a capability no process inside can have, so that none can look into them', async () => {
      await withSandbox(get(), 'user', async (sandbox) => {
        const setpcap = 0x100;
        const look =
          'for s in /proc/[0-9]*/status; do echo $s $(sed -n "s/^PPid:.//p; s/^Cap[IPEB]..:.//p" $s); done';
        const seen = [await sh(sandbox, look), await sh(sandbox, look, { user: 0 })];
        // PPid, and the inheritable, permitted, effective and bounding capabilities.
        const processes = seen.flatMap(({ out }) => [
          ...out.matchAll(/^.proc.(\d+).status (\d+) (\w+) (\w+) (\w+) (\w+)$/gm),
        ]);
        const holders = processes.map(([, pid, parent, ...sets]) => ({
          who: pid === '1' ? 'PID 1' : parent === '0' ? 'connect' : 'inside',
          holds: sets.map((set) => (Number.parseInt(set.slice(-4), 16) & setpcap) !== 0),
        }));
        const held = (who: string) =>
          new Set(holders.filter((one) => one.who === who).map(({ holds }) => holds.join()));
        expect(held('PID 1')).toEqual(new Set(['false,true,true,false']));
        expect(held('connect')).toEqual(new Set(['false,true,true,true']));
        expect(held('inside')).toEqual(new Set(['false,false,false,false']));
      });
    });

    const setuid = platform.setuidGains ? 'becomes root by setuid alone' : 'gains nothing by setuid';
    it(`has dropped what root in an image does not need, and ${setuid}`, async () => {
      await withSandbox(get(), 'user', async (sandbox) => {
        const root =
          'mount -t tmpfs x /mnt 2>/dev/null || echo no-mount; mknod /tmp/d c 1 3 2>/dev/null || echo no-mknod; chown 1:1 /tmp && chmod 1777 /tmp && echo owner';
        expect((await sh(sandbox, root, { user: 0 })).out).toBe('no-mount\nno-mknod\nowner\n');
        await sh(sandbox, 'cp /usr/bin/id /tmp/id; chmod 4755 /tmp/id', { user: 0 });
        expect((await sh(sandbox, '/tmp/id -u')).out).toBe(platform.setuidGains ? '0\n' : '1000\n');
      });
    });
  });
}
