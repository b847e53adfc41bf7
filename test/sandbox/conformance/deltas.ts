// Conformance: the delta is what changed in the file system, all of it and nothing else, and can be laid again.
import { describe, expect, it } from 'vitest';
import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import type { DeltaEntry } from '../../../domain/delta.ts';
import type { Sandbox, TakenDelta } from '../../../sandbox/port.ts';
import { readTar, sh, withSandbox, type Harness, type Read } from './harness.ts';

const limit = 64 * 1024 ** 2;

export async function taken(
  sandbox: Sandbox,
): Promise<{ delta: TakenDelta; bytes: Buffer; files: Map<string, Read> }> {
  let bytes: Buffer = Buffer.alloc(0);
  const delta = await sandbox.takeDelta(limit, async (tar) => {
    bytes = await buffer(tar);
  });
  return { delta, bytes, files: await readTar(Readable.from([bytes])) };
}

const byPath = ({ manifest }: TakenDelta): Map<string, DeltaEntry> =>
  new Map(manifest.entries.map((entry) => [entry.path, entry]));

const artifact = (source: string, exclude: string[] = []) => ({
  source,
  exclude,
  destination: null,
  service: null,
});

export function deltasConform(get: () => Harness): void {
  describe('deltas', () => {
    it('is empty where nothing was done', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const { delta } = await taken(sandbox);
        expect(
          delta.manifest.entries.filter(({ kind, change }) => kind !== 'directory' || change !== 'changed'),
        ).toEqual([]);
        expect(delta).toMatchObject({ overLimit: false, manifest: { refused: [], missing: [] } });
      });
    });

    it('names what was added, changed and deleted, with kinds, modes, owners and links', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(
          sandbox,
          `mkdir -p /work/new; echo added > /work/new/file; chown 7:8 /work/new/file; chmod 4751 /work/new/file
           ln -s /etc/passwd /work/link; ln /work/new/file /work/hard; echo more >> /etc/debian_version
           chmod 600 /etc/issue; rm /etc/issue.net; rm -r /usr/share/doc/tar; rm -r /etc/apt; mkdir /etc/apt; echo 1 > /etc/apt/only
           mkfifo /work/fifo; touch "/work/sp ace ü"; rm -r /etc/skel; echo file > /etc/skel`,
        );
        const { delta, files } = await taken(sandbox);
        const entries = byPath(delta);
        const file = { change: 'added', kind: 'file', mode: 0o4751, uid: 7, gid: 8, bytes: 6 };
        expect(entries.get('/work/new')).toMatchObject({ change: 'added', kind: 'directory' });
        const [one, two] = [entries.get('/work/new/file'), entries.get('/work/hard')];
        expect([one?.kind, two?.kind].toSorted()).toEqual(['file', 'hardlink']);
        expect(one?.kind === 'file' ? one : two).toMatchObject(file);
        expect(entries.get('/work/link')).toMatchObject({
          change: 'added',
          kind: 'symlink',
          target: '/etc/passwd',
        });
        expect(entries.get('/etc/debian_version')).toMatchObject({ change: 'changed', kind: 'file' });
        expect(entries.get('/etc/issue')).toMatchObject({ change: 'changed', kind: 'file', mode: 0o600 });
        expect(entries.get('/etc/issue.net')).toMatchObject({ change: 'deleted' });
        expect(entries.get('/usr/share/doc/tar')).toMatchObject({ change: 'deleted' });
        expect(entries.get('/work/sp ace ü')).toMatchObject({ change: 'added', bytes: 0 });
        expect(entries.get('/etc/apt/only')).toMatchObject({ change: 'added', kind: 'file' });
        expect(entries.get('/etc/skel')).toMatchObject({ kind: 'file' });
        expect(delta.manifest.refused.map(({ path }) => path)).toEqual(['/work/fifo']);
        expect(delta).toMatchObject({ overLimit: false, hasContent: true });
        expect(files.get('etc/debian_version')?.content.toString()).toContain('more');
        const paths = [...entries.keys()].filter((path) =>
          /^\/(proc|sys|dev|opt\/passband)(\/|$)|hosts$|resolv.conf$/.test(path),
        );
        expect(paths).toEqual([]);
      });
    });

    it('finds a change that was hidden: size and times set back, a file renamed over another, a mode', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(
          sandbox,
          `cp -p /etc/debian_version /tmp/was; tr 0-9 1-90 < /tmp/was > /etc/debian_version; touch -r /tmp/was /etc/debian_version
           cp -p /etc/host.conf /tmp/other; tr a-z b-za < /tmp/other > /tmp/over; touch -r /tmp/other /tmp/over; mv /tmp/over /etc/host.conf
           touch -r /etc /tmp/etc; chmod 4755 /usr/bin/id; touch -r /tmp/etc /etc`,
        );
        const { delta, files } = await taken(sandbox);
        const entries = byPath(delta);
        for (const path of ['/etc/debian_version', '/etc/host.conf']) {
          expect(entries.get(path)).toMatchObject({ change: 'changed', kind: 'file' });
        }
        expect(entries.get('/usr/bin/id')).toMatchObject({ change: 'changed', mode: 0o4755 });
        expect(files.get('etc/debian_version')?.content.toString()).not.toMatch(/^12/);
        expect(entries.has('/etc/issue')).toBe(false);
      });
    });

    it('holds a directory that was moved whole under its new name, and tells the old one by its top alone', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const count = 'find /usr/share/perl5 | wc -l';
        const before = Number((await sh(sandbox, count)).out);
        await sh(sandbox, 'mkdir /work; mv /usr/share/perl5 /work/moved; rm -r /usr/share/doc/tar');
        const entries = byPath((await taken(sandbox)).delta);
        const below = (top: string) =>
          [...entries.keys()].filter((path) => path === top || path.startsWith(`${top}/`));
        expect(below('/work/moved')).toHaveLength(before);
        expect(entries.get('/work/moved')).toMatchObject({ change: 'added', kind: 'directory' });
        for (const top of ['/usr/share/perl5', '/usr/share/doc/tar']) {
          expect(below(top)).toEqual([top]);
          expect(entries.get(top)).toMatchObject({ change: 'deleted' });
        }
      });
    });

    it('names what no JSON string can hold, and carries all else', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(sandbox, `mkdir /work; echo 1 > "$(printf '/work/a\\377')"; echo 2 > /work/b`);
        const { delta } = await taken(sandbox);
        expect(delta.manifest.refused).toEqual([{ path: '/work/a\\xff', why: 'its name is not UTF-8' }]);
        expect(byPath(delta).get('/work/b')).toMatchObject({ change: 'added', kind: 'file' });
      });
    });

    it('is taken by another worker, and by none where the sandbox was made without a baseline', async () => {
      await withSandbox(get(), 'debian', async ({ identity }) => {
        const opened = await get().otherDriver.open(identity);
        await sh(opened, 'echo 1 > /root/mark');
        expect(byPath((await taken(opened)).delta).get('/root/mark')).toMatchObject({ change: 'added' });
        await opened.close();
      });
      const without = { baseline: false };
      const use = async (sandbox: Sandbox): Promise<void> => {
        const opened = await get().otherDriver.open(sandbox.identity);
        for (const one of [sandbox, opened])
          await expect(taken(one)).rejects.toMatchObject({ failureClass: 'Unexpected' });
        await opened.close();
      };
      await withSandbox(get(), 'busybox', use, without);
    });

    it('takes volumes of the image as well', async () => {
      await withSandbox(get(), 'volume', async (sandbox) => {
        await sh(sandbox, 'echo mine > /vol/mine');
        const { delta, files } = await taken(sandbox);
        expect(byPath(delta).get('/vol/mine')).toMatchObject({ change: 'added', kind: 'file' });
        expect(files.get('vol/mine')?.content.toString()).toBe('mine\n');
      });
    });

    it('says that it is over the limit before it streams anything', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(sandbox, 'truncate -s 1G /sparse');
        let called = false;
        const delta = await sandbox.takeDelta(limit, () => {
          called = true;
          return Promise.resolve();
        });
        expect({ called, ...delta, manifest: null }).toEqual({
          called: false,
          overLimit: true,
          hasContent: false,
          manifest: null,
        });
        expect(byPath(delta).get('/sparse')?.bytes).toBe(1024 ** 3);
      });
    });

    it('takes what is frozen', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sandbox.start({ id: 'w', argv: ['/bin/sh', '-c', 'while :; do date >> /root/log; done'] });
        await sh(sandbox, 'sleep 0.3');
        await sandbox.pause();
        const first = byPath((await taken(sandbox)).delta).get('/root/log');
        const second = byPath((await taken(sandbox)).delta).get('/root/log');
        expect(first).toBeDefined();
        expect(second).toEqual(first);
        await sandbox.resume();
      });
    });

    it('takes declared artifacts alone, names those that are missing, and follows links in their parents (C21, C54)', async () => {
      await withSandbox(
        get(),
        'debian',
        async (sandbox) => {
          await sh(
            sandbox,
            `mkdir -p /work/out/cache /real; echo 1 > /work/out/a; echo 2 > /work/out/cache/b; echo 3 > /work/other; ln -s /real /via; echo 4 > /real/r; ln -s /real /work/dirlink; echo t > /tmp/t`,
          );
          let files = new Map<string, Read>();
          const delta = await sandbox.takeArtifacts(
            [
              artifact('out', ['cache/']),
              artifact('/none'),
              artifact('/via/r'),
              artifact('/work/dirlink'),
              artifact('/tmp'),
            ],
            limit,
            async (tar) => {
              files = await readTar(tar);
            },
          );
          expect(delta.manifest.missing).toEqual(['/none']);
          expect([...byPath(delta).keys()].toSorted()).toEqual([
            '/real',
            '/real/r',
            '/tmp',
            '/tmp/t',
            '/work/dirlink',
            '/work/out',
            '/work/out/a',
          ]);
          expect(files.get('real/r')?.content.toString()).toBe('4\n');
          expect(delta).toMatchObject({ overLimit: false, hasContent: true });
        },
        { workdir: '/work' },
      );
    });
  });
}
