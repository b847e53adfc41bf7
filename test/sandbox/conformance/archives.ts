// Conformance: what a hostile archive asks for is refused by kind, in and out of a sandbox, and the rest goes on.
import { describe, expect, it } from 'vitest';
import { readTar, sh, tarOf, withSandbox, type Entry, type Harness } from './harness.ts';

const file = (name: string, content = 'x'): Entry => ({ header: { name }, content });
const link = (name: string, linkname: string, type: 'symlink' | 'link' = 'symlink'): Entry => ({
  header: { name, type, linkname },
});

const hostile: readonly (readonly [string, readonly Entry[], readonly string[]])[] = [
  ['a name that climbs out', [file('../out'), file('a/../../out'), file('good')], ['good']],
  ['an absolute name', [file('/etc/planted'), file('good')], ['good']],
  [
    'a name below a symbolic link of the same archive',
    [link('l', '/etc'), file('l/planted'), file('good')],
    ['good', 'l'],
  ],
  ['a name below a chain of links', [link('a', '..'), link('b', 'a/..'), file('b/planted')], ['a', 'b']],
  [
    'a hard link out of the archive',
    [link('passwd', '/etc/passwd', 'link'), link('p2', '../etc/passwd', 'link'), file('good')],
    ['good'],
  ],
  ['a hard link to a link', [link('l', '/etc/passwd'), link('h', 'l', 'link'), file('good')], ['good', 'l']],
  ['a FIFO', [{ header: { name: 'fifo', type: 'fifo' } }, file('good')], ['good']],
  [
    'a device',
    [
      { header: { name: 'dev', type: 'character-device', devmajor: 1, devminor: 5 } },
      { header: { name: 'blk', type: 'block-device' } },
      file('good'),
    ],
    ['good'],
  ],
];

export function archivesConform(get: () => Harness): void {
  describe('archives', () => {
    it.each(hostile)('does not lay %s, and says which (C19)', async (_, entries, laid) => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const put = await sandbox.putFiles(() => tarOf(entries), { dir: '/in', replace: true, owner: 0 });
        expect(put.refused).toHaveLength(entries.length - laid.length);
        for (const { why } of put.refused) expect(why).not.toBe('');
        expect((await sandbox.listNames(['/in'])).get('/in')).toEqual(laid);
        expect((await sh(sandbox, 'ls -d /out /etc/planted /planted 2>/dev/null')).out).toBe('');
        expect((await sh(sandbox, 'stat -c %h /etc/passwd')).out).toBe('1\n');
      });
    });

    it('lays nothing through a link that stood there before (C19)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(sandbox, 'mkdir /in; ln -s /etc /in/l; ln -s /etc/passwd /in/f');
        const put = await sandbox.putFiles(() => tarOf([file('l/planted'), file('f')]), {
          dir: '/in',
          replace: false,
          owner: 0,
        });
        expect(put.refused.map(({ path }) => path)).toEqual([expect.stringContaining('planted')]);
        expect((await sh(sandbox, 'ls /etc/planted 2>/dev/null; head -c 4 /etc/passwd; cat /in/f')).out).toBe(
          'rootx',
        );
      });
    });

    it('does not lay over its own toolbox', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const entries = [file('opt/passband/bin/supervisor'), file('opt/passband/new')];
        const put = await sandbox.putFiles(() => tarOf(entries), { dir: '/', replace: false, owner: 0 });
        expect(put.refused).toHaveLength(2);
        expect((await sh(sandbox, 'echo on')).out).toBe('on\n');
      });
    });

    it('takes hostile trees out as they are: links not followed, FIFOs named and not waited for (C19)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(
          sandbox,
          'mkdir /art; cd /art; ln -s /etc/shadow link; mkfifo fifo; ln -s . loop; ln -s /none gone; echo 1 > a; ln a b; truncate -s 1G sparse',
        );
        let names: string[] = [];
        const got = await sandbox.getFiles({ paths: ['/art'], maxBytes: 1024 ** 2 }, async (tar) => {
          names = [...(await readTar(tar)).values()].map(({ header }) => `${header.name} ${header.type}`);
        });
        expect(names).toEqual(
          expect.arrayContaining([
            'art/link symlink',
            'art/loop symlink',
            'art/gone symlink',
            'art/a file',
            'art/b link',
          ]),
        );
        expect(names.join()).not.toContain('fifo');
        expect(got.truncated).toBe(true);
        expect(got.bytes).toBeLessThan(4 * 1024 ** 2);
      });
    });
  });
}
