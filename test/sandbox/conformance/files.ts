// Conformance: files arrive whole and as they were, in either direction, across a cut, in any number.
import { describe, expect, it } from 'vitest';
import { buffer } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  noise,
  readTar,
  sh,
  sha256,
  tarOf,
  withSandbox,
  type Entry,
  type Harness,
  type Read,
} from './harness.ts';

const into = (dir: string) => ({ dir, replace: false, owner: 0 });
const all = { maxBytes: 1024 ** 3 };

export function filesConform(get: () => Harness): void {
  describe('files', () => {
    it('has laid everything when it says so, with modes, owners, times and links (C11)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const entries: Entry[] = [
          { header: { name: 'bin/', type: 'directory', mode: 0o711, uid: 7, gid: 8 } },
          {
            header: { name: 'bin/run', mode: 0o755, uid: 7, gid: 8, mtime: new Date(86_400_000) },
            content: 'x'.repeat(5000),
          },
          { header: { name: 'same', type: 'link', linkname: 'bin/run' } },
          { header: { name: 'link', type: 'symlink', linkname: '/etc/passwd' } },
          { header: { name: `deep/${'d'.repeat(90)}/${'e'.repeat(90)}/long name ü` }, content: 'far' },
        ];
        const put = await sandbox.putFiles(() => tarOf(entries), { ...into('/data/in'), owner: null });
        expect(put).toMatchObject({ entries: 5, refused: [] });
        const whole = await buffer(tarOf(entries));
        expect(put).toMatchObject({ bytes: whole.length, sha256: sha256(whole) });
        const seen = await sh(
          sandbox,
          'cd /data/in; stat -c "%n %a %u %g %Y %h %F" bin bin/run link same; cat deep/*/*/*; readlink link',
        );
        expect(seen.out.split('\n')).toEqual([
          expect.stringMatching(/^bin 711 7 8 \d+ 2 directory$/),
          'bin/run 755 7 8 86400 2 regular file',
          expect.stringMatching(/^link 777 0 0 \d+ 1 symbolic link$/),
          'same 755 7 8 86400 2 regular file',
          'far/etc/passwd',
          '',
        ]);
      });
    });

    it('has a whole folder in place when it says so: its files by their number and sum (C11)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const entries = Array.from({ length: 300 }, (_, at) => ({
          header: { name: `d${at % 7}/f${at}` },
          content: noise(at * 97, at + 1),
        }));
        await sandbox.putFiles(() => tarOf(entries), into('/folder'));
        const { out } = await sh(sandbox, 'cd /folder && find . -type f | wc -l && sha256sum d*/*');
        const [count, ...sums] = out.trim().split('\n');
        expect(count).toBe('300');
        expect(sums.toSorted()).toEqual(
          entries.map(({ header, content }) => `${sha256(content)}  ${header.name}`).toSorted(),
        );
      });
    });

    it('gives everything to the owner that is named, by name or number', async () => {
      await withSandbox(get(), 'user', async (sandbox) => {
        const one = () => tarOf([{ header: { name: 'a/b', uid: 99, gid: 99 }, content: '1' }]);
        await sandbox.putFiles(one, { ...into('/x'), owner: 'app' });
        await sandbox.putFiles(one, { ...into('/y'), owner: 1000 });
        await sandbox.putFiles(one, { ...into('/z'), owner: 'root' });
        expect((await sh(sandbox, 'stat -c %u:%g /x/a/b /y/a/b /z/a/b')).out).toBe(
          '1000:1000\n1000:1000\n0:0\n',
        );
      });
    });

    it('replaces what stood there, a link and what is behind it kept apart (C52)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(sandbox, 'mkdir -p /tests/old /elsewhere; touch /elsewhere/kept; ln -s /elsewhere /logs');
        const one = () => tarOf([{ header: { name: 'test.sh', mode: 0o755 }, content: 'true' }]);
        await sandbox.putFiles(one, { dir: '/tests', replace: true, owner: 0 });
        await sandbox.putFiles(one, { dir: '/logs', replace: true, owner: 0 });
        const names = await sandbox.listNames(['/tests', '/logs', '/elsewhere', '/no/such']);
        expect([...names]).toEqual([
          ['/tests', ['test.sh']],
          ['/logs', ['test.sh']],
          ['/elsewhere', ['kept']],
          ['/no/such', []],
        ]);
        expect((await sh(sandbox, 'test -L /logs')).exitCode).toBe(1);
      });
    });

    it('removes paths, a link itself and not what it leads to', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(
          sandbox,
          'mkdir -p /a/b /c; touch /a/b/x /c/kept; ln -s /c /d; chattr +i /a/b/x 2>/dev/null || true',
        );
        await sandbox.removePaths(['/a', '/d', '/no/such']);
        expect((await sh(sandbox, 'ls -d /a /d /c/kept 2>/dev/null')).out).toBe('/c/kept\n');
      });
    });

    it('takes files out by absolute path, names what is missing, and ends in time (C14)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(
          sandbox,
          'mkdir -p /out/sub/skip; echo 1 > /out/a; echo 2 > /out/sub/b; echo 3 > /out/sub/c.log; touch /out/sub/skip/x',
        );
        let read = new Map<string, Read>();
        let digest = '';
        const got = await sandbox.getFiles(
          { ...all, paths: ['/out', '/none', '/etc/hostname'], exclude: ['*.log', 'skip/'] },
          async (tar) => {
            const bytes = await buffer(tar);
            digest = sha256(bytes);
            read = await readTar(Readable.from([bytes]));
          },
        );
        expect([...read.keys()].map((name) => name.replace(/\/$/, ''))).toEqual(
          expect.arrayContaining(['out', 'out/a', 'out/sub', 'out/sub/b', 'etc/hostname']),
        );
        expect([...read.keys()].filter((name) => /log|skip/.test(name))).toEqual([]);
        expect(read.get('out/sub/b')?.content.toString()).toBe('2\n');
        expect(got).toMatchObject({ missing: ['/none'], truncated: false, sha256: digest });
        const little = await sandbox.getFiles({ paths: ['/usr/lib'], maxBytes: 100_000 }, drain);
        expect(little.truncated).toBe(true);
        expect(little.bytes).toBeLessThan(2_000_000);
      });
    });

    it('takes a file that changes while it is read, and a tree that the archive itself would lie in (C14, C21)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sandbox.start({
          id: 'grow',
          argv: [
            '/bin/sh',
            '-c',
            'while :; do head -c 100000 /dev/zero >> /tmp/log; truncate -s "<9M" /tmp/log; done',
          ],
        });
        await sh(sandbox, 'until test -s /tmp/log; do sleep 0.05; done');
        for (let turn = 0; turn < 5; turn += 1) {
          const got = await sandbox.getFiles({ ...all, paths: ['/tmp', '/opt/passband'] }, async (tar) => {
            expect([...(await readTar(tar)).keys()]).toContain('tmp/log');
          });
          expect(got.missing).toEqual([]);
        }
      });
    });

    it('carries 300 MB up and down unchanged while the connection is cut once in each direction (C12)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const content = noise(300 * 1024 ** 2, 5);
        let tries = 0;
        get().outside.cut(120 * 1024 ** 2);
        await sandbox.putFiles(() => {
          tries += 1;
          return tarOf([{ header: { name: 'big' }, content }]);
        }, into('/big'));
        expect(tries).toBe(2);
        const wanted = sha256(content);
        expect((await sh(sandbox, 'sha256sum < /big/big')).out).toBe(`${wanted}  -\n`);
        let calls = 0;
        let digest = '';
        get().outside.cut(120 * 1024 ** 2);
        const got = await sandbox.getFiles({ ...all, paths: ['/big/big'] }, async (tar) => {
          calls += 1;
          const hash = createHash('sha256');
          let skipped = 512;
          let left = content.length;
          for await (const chunk of tar as AsyncIterable<Buffer>) {
            const part = chunk.subarray(Math.min(skipped, chunk.length)).subarray(0, left);
            skipped -= Math.min(skipped, chunk.length);
            left -= part.length;
            hash.update(part);
          }
          digest = hash.digest('hex');
        });
        expect({ calls, digest, truncated: got.truncated }).toEqual({
          calls: 2,
          digest: wanted,
          truncated: false,
        });
      });
    }, 180_000);

    it('carries 10,000 small files', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const entries = Array.from({ length: 10_000 }, (_, at) => ({
          header: { name: `f${at % 100}/${at}` },
          content: `file ${at}`,
        }));
        const put = await sandbox.putFiles(() => tarOf(entries), into('/many'));
        expect(put).toMatchObject({ entries: 10_000, refused: [] });
        let read = new Map<string, Read>();
        await sandbox.getFiles({ ...all, paths: ['/many'] }, async (tar) => {
          read = await readTar(tar);
        });
        for (const { header, content } of entries) {
          expect(read.get(`many/${header.name}`)?.content.toString()).toBe(content);
        }
      });
    }, 120_000);

    it('has every byte in place in 64 uploads at once (C16)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const content = noise(65_537, 9);
        await Promise.all(
          Array.from({ length: 64 }, (_, at) =>
            sandbox.putFiles(() => tarOf([{ header: { name: 'test.sh' }, content }]), into(`/up/${at}`)),
          ),
        );
        const counts = Array.from({ length: 64 }, () => String(content.length));
        expect(
          (await sh(sandbox, 'for f in /up/*/test.sh; do wc -c < $f; done')).out.trim().split('\n'),
        ).toEqual(counts);
      });
    });

    it('gives files in and out of an image that has no tar and no shell of that name', async () => {
      await withSandbox(get(), 'busybox', async (sandbox) => {
        await sandbox.putFiles(() => tarOf([{ header: { name: 'x' }, content: 'y' }]), into('/new/dir'));
        let read = new Map<string, Read>();
        await sandbox.getFiles({ ...all, paths: ['/new'] }, async (tar) => {
          read = await readTar(tar);
        });
        expect(read.get('new/dir/x')?.content.toString()).toBe('y');
      });
    });

    it('passes on what goes wrong in the sink or the source, and works on', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const failing = sandbox.getFiles({ ...all, paths: ['/usr/share'] }, () =>
          Promise.reject(new Error('store is full')),
        );
        await expect(failing).rejects.toThrow('store is full');
        const broken = sandbox.putFiles(() => {
          const tar = tarOf([{ header: { name: 'x' }, content: noise(5_000_000, 1) }]);
          setTimeout(() => tar.destroy(new Error('source broke')), 1);
          return tar;
        }, into('/broken'));
        await expect(broken).rejects.toThrow('source broke');
        expect((await sh(sandbox, 'echo on')).out).toBe('on\n');
      });
    });
  });
}

async function drain(tar: Readable): Promise<void> {
  tar.resume();
  await finished(tar);
}
