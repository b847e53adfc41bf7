import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { filterTar, type TarRules } from '../../../sandbox/archive/filter-tar.ts';
import { TarObserver } from '../../../sandbox/archive/tar-observer.ts';
import type { RefusedEntry } from '../../../sandbox/port.ts';
import { readTar, tarOf, type Entry, type Read } from '../conformance/harness.ts';

const file = (name: string, content = 'x', mode = 0o644): Entry => ({ header: { name, mode }, content });
const link = (name: string, linkname: string, type: 'symlink' | 'link' = 'symlink'): Entry => ({
  header: { name, type, linkname },
});

async function filtered(
  entries: readonly Entry[],
  rules: Partial<TarRules> = {},
): Promise<{ kept: Map<string, Read>; refused: RefusedEntry[] }> {
  const refused: RefusedEntry[] = [];
  const tar = filterTar(tarOf(entries), { maxBytes: 1_000_000, ...rules }, (entry) => refused.push(entry));
  return { kept: await readTar(tar), refused };
}

describe('an archive that is filtered', () => {
  it.each<[string, readonly Entry[]]>([
    ['a name that climbs out', [file('a/../../out')]],
    ['an absolute name', [file('/etc/passwd')]],
    ['a device', [{ header: { name: 'd', type: 'block-device', devmajor: 1 } }]],
    ['a FIFO', [{ header: { name: 'f', type: 'fifo' } }]],
    ['a hard link to nothing of the archive', [link('h', 'etc/passwd', 'link')]],
    ['a hard link that climbs out', [link('h', '../x', 'link')]],
    [
      'content over the limit',
      [{ header: { name: 'sparse', size: 2_000_000 }, content: Buffer.alloc(2_000_000) }],
    ],
  ])('leaves out %s, says why, and keeps the rest (C19)', async (_, hostile) => {
    const { kept, refused } = await filtered([file('before'), ...hostile, file('after')]);
    expect([...kept.keys()]).toEqual(['before', 'after']);
    expect(refused).toHaveLength(1);
    expect(refused[0]?.why).not.toBe('');
  });

  it('leaves out what goes through a link or below a file of the same archive (C19)', async () => {
    const { kept, refused } = await filtered([
      link('l', '/etc'),
      file('l/x'),
      file('l/y/z'),
      file('f'),
      file('f/x'),
    ]);
    expect([...kept.keys()]).toEqual(['l', 'f']);
    expect(refused.map(({ path }) => path)).toEqual(['/l/x', '/l/y/z', '/f/x']);
  });

  it('leaves out a name that comes twice, however it is written, and not a directory (C19)', async () => {
    const dir = (name: string): Entry => ({ header: { name, type: 'directory' } });
    const { kept, refused } = await filtered([
      dir('d'),
      file('d/a'),
      dir('./d/'),
      link('./d//a', '/etc/passwd'),
      file('d/a'),
    ]);
    expect([...kept.values()].map(({ header }) => header.type)).toEqual(['directory', 'file', 'directory']);
    expect(refused.map(({ why }) => why)).toEqual(['a name that comes twice', 'a name that comes twice']);
  });

  it('keeps links, owners, modes, times and content as they are', async () => {
    const mtime = new Date(1_000_000_000_000);
    const { kept, refused } = await filtered([
      { header: { name: 'd/', type: 'directory', mode: 0o700, uid: 5, gid: 6, mtime } },
      { header: { name: 'd/f', mode: 0o751, uid: 7, gid: 8, mtime }, content: 'content' },
      link('d/s', '../../outside'),
      link('d/h', 'd/f', 'link'),
      file(`${'long/'.repeat(60)}ü`, 'deep'),
    ]);
    expect(refused).toEqual([]);
    expect(kept.get('d/f')?.header).toMatchObject({ mode: 0o751, uid: 7, gid: 8, mtime, type: 'file' });
    expect(kept.get('d/f')?.content.toString()).toBe('content');
    expect(kept.get('d/s')?.header).toMatchObject({ type: 'symlink', linkname: '../../outside' });
    expect(kept.get('d/h')?.header).toMatchObject({ type: 'link', linkname: 'd/f' });
    expect(kept.get(`${'long/'.repeat(60)}ü`)?.content.toString()).toBe('deep');
  });

  it('drops setuid and setgid of files but of those that keep them, and file capabilities of all', async () => {
    const capable = { name: 'capable', pax: { 'SCHILY.xattr.security.capability': 'x' } };
    const entries = [file('s', 'x', 0o6755), file('keeps', 'x', 0o4755), { header: capable, content: 'x' }];
    const { kept } = await filtered(entries, { keepsSpecialBits: (path) => path === '/keeps' });
    expect(kept.get('s')?.header.mode).toBe(0o755);
    expect(kept.get('keeps')?.header.mode).toBe(0o4755);
    expect(kept.get('capable')?.header.pax ?? null).toBeNull();
  });

  it('asks the judge of what is well formed, with absolute names', async () => {
    const asked: string[] = [];
    const { kept, refused } = await filtered([file('a'), file('../b'), file('c')], {
      judge: (path) => {
        asked.push(path);
        return path === '/c' ? 'withheld' : null;
      },
    });
    expect(asked).toEqual(['/a', '/c']);
    expect([...kept.keys()]).toEqual(['a']);
    expect(refused.map(({ why }) => why)).toContain('withheld');
  });

  it('fails where the archive breaks off or is none', async () => {
    const whole = await buffer(tarOf([file('a', 'x'.repeat(10_000))]));
    const cut = filterTar(Readable.from([whole.subarray(0, 5_000)]), { maxBytes: 1e9 }, () => undefined);
    await expect(buffer(cut)).rejects.toThrow();
    const none = filterTar(Readable.from([Buffer.alloc(2048, 'x')]), { maxBytes: 1e9 }, () => undefined);
    await expect(buffer(none)).rejects.toThrow(/tar/);
    const broken = new Readable({ read: () => undefined });
    const failing = buffer(filterTar(broken, { maxBytes: 1e9 }, () => undefined));
    broken.destroy(new Error('cut'));
    await expect(failing).rejects.toThrow('cut');
  });
});

describe('an archive that is observed', () => {
  it('comes out byte for byte, and each header is told', async () => {
    const entries = [file('a', 'x'.repeat(300_000)), link('b', 'a', 'link'), file('c')];
    const whole = await buffer(tarOf(entries));
    const seen: string[] = [];
    const observer = new TarObserver(({ name, type }) => seen.push(`${name} ${type}`));
    const out = await buffer(Readable.from([whole.subarray(0, 700), whole.subarray(700)]).pipe(observer));
    expect(createHash('sha256').update(out).digest('hex')).toBe(
      createHash('sha256').update(whole).digest('hex'),
    );
    expect(seen).toEqual(['a file', 'b link', 'c file']);
  });

  it('is an error where it is no archive', async () => {
    const observer = new TarObserver(() => undefined);
    observer.end(Buffer.alloc(4096, 'x'));
    await expect(buffer(observer)).rejects.toThrow(/tar/);
  });
});
