// Archives from a sandbox: regular files by name, bounded, and nothing else of what may be in one.
import { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import { readArchive, smallArchive } from '../../activities/archives.ts';

describe('readArchive', () => {
  it('finds files by their absolute path, hidden ones too', async () => {
    const archive = smallArchive([
      { name: 'logs/verifier/', mode: 0o777, content: null },
      { name: 'logs/verifier/.x', mode: 0o644, content: 'hidden' },
      { name: './.recording', mode: 0o644, content: 'top' },
    ]);
    const files = await readArchive(archive, 100);
    expect([...files].map(([path, content]) => [path, content.toString()])).toEqual([
      ['/logs/verifier/.x', 'hidden'],
      ['/.recording', 'top'],
    ]);
  });

  it('C19: passes over links, FIFOs and devices, and follows a hard link inside the archive alone', async () => {
    const archive = pack();
    archive.entry({ name: 'logs/verifier/reward.txt', type: 'symlink', linkname: '/work/mine' });
    archive.entry({ name: 'logs/verifier/pipe', type: 'fifo' });
    archive.entry({ name: 'logs/verifier/a' }, '1');
    archive.entry({ name: 'logs/verifier/b', type: 'link', linkname: 'logs/verifier/a' });
    archive.entry({ name: 'logs/verifier/c', type: 'link', linkname: 'etc/passwd' });
    archive.finalize();
    const files = await readArchive(Readable.from(archive, { objectMode: false }), 100);
    expect([...files.keys()]).toEqual(['/logs/verifier/a', '/logs/verifier/b']);
  });

  it('keeps no more of a file than it is asked to', async () => {
    const archive = smallArchive([{ name: 'x', mode: 0o644, content: 'y'.repeat(1_000) }]);
    expect((await readArchive(archive, 10)).get('/x')).toHaveLength(10);
  });

  it('fails where the archive is cut', async () => {
    await expect(readArchive(Readable.from([Buffer.alloc(700, 1)]), 10)).rejects.toThrow();
  });
});
