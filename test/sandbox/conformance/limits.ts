// Conformance: a sandbox uses what it was given, and what it takes beyond that is its own end or its child's.
import { describe, expect, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { sh, withSandbox, type Harness } from './harness.ts';

export function limitsConform(get: () => Harness): void {
  describe('limits', () => {
    it('ends a child that takes more memory than there is, counts it, and goes on (C40)', async () => {
      await withSandbox(
        get(),
        'debian',
        async (sandbox) => {
          const hog = await sh(sandbox, `perl -e '$x = "a" x 500_000_000; print "fits"'; echo survived $?`);
          expect(hog.out).toBe('survived 137\n');
          expect(await sandbox.state()).toEqual({ kind: 'alive' });
          const { oomKills } = await sandbox.usage();
          expect(oomKills === null || oomKills >= 1).toBe(true);
          expect((await sh(sandbox, 'echo on')).out).toBe('on\n');
        },
        { memoryMiB: 96 },
      );
    });

    it('refuses processes beyond their number, ends them all, and goes on', async () => {
      await withSandbox(
        get(),
        'debian',
        async (sandbox) => {
          await sh(sandbox, 'i=0; while [ $i -lt 300 ]; do sleep 300 & i=$((i+1)); done', {
            timeoutMs: 20_000,
          });
          await sandbox.endProcesses();
          expect((await sh(sandbox, 'echo on')).out).toBe('on\n');
        },
        { pids: 100 },
      );
    });

    it('tells its files by their size, and ends where they outgrow their limit', async () => {
      await withSandbox(
        get(),
        'debian',
        async (sandbox) => {
          const before = (await sandbox.usage()).diskBytes ?? 0;
          await sh(sandbox, 'head -c 30000000 /dev/urandom > /root/some');
          const { diskBytes } = await sandbox.usage();
          if (diskBytes === null) return;
          expect(diskBytes - before).toBeGreaterThan(29_000_000);
          expect(await sandbox.state()).toEqual({ kind: 'alive' });
          const wrote = await sh(sandbox, 'head -c 200000000 /dev/zero > /root/full');
          // A quota of the storage refuses the write; without one the sandbox is ended at the next look.
          if (wrote.exitCode !== 0) return;
          await sleep(5_500);
          expect(await sandbox.state()).toMatchObject({ kind: 'gone', cause: 'self', why: 'disk' });
          await expect(sh(sandbox, 'echo on')).rejects.toMatchObject({ state: { why: 'disk' } });
        },
        { diskMiB: 100 },
      );
    });

    it('has dropped what root in an image does not need, and gains nothing by setuid', async () => {
      await withSandbox(get(), 'user', async (sandbox) => {
        const root =
          'mount -t tmpfs x /mnt 2>/dev/null || echo no-mount; mknod /tmp/d c 1 3 2>/dev/null || echo no-mknod; chown 1:1 /tmp && chmod 1777 /tmp && echo owner';
        expect((await sh(sandbox, root, { user: 0 })).out).toBe('no-mount\nno-mknod\nowner\n');
        await sh(sandbox, 'cp /usr/bin/id /tmp/id; chmod 4755 /tmp/id', { user: 0 });
        expect((await sh(sandbox, '/tmp/id -u')).out).toBe('1000\n');
      });
    });
  });
}
