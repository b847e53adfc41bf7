import { lstat, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inContextFolder } from '../../../k8s/images/context-folder.ts';
import { tarOf } from '../../sandbox/conformance/harness.ts';

it('lays a context with its modes, times and links as they are, and leaves nothing behind', async () => {
  const mtime = new Date(86_400_000);
  const entries = [
    { header: { name: 'sub', type: 'directory' as const, mode: 0o500, mtime } },
    { header: { name: 'sub/run.sh', mode: 0o755, mtime }, content: 'x' },
    { header: { name: 'deep/er/file', mtime }, content: 'deep' },
    { header: { name: 'same', type: 'link' as const, linkname: 'sub/run.sh' } },
    { header: { name: 'outside', type: 'symlink' as const, linkname: '/etc/passwd', mtime } },
    { header: { name: 'dangling', type: 'symlink' as const, linkname: '../../nowhere', mtime } },
  ];
  const seen = await inContextFolder(tarOf(entries), async (dir) => {
    expect((await stat(join(dir, 'sub/run.sh'))).mode & 0o777).toBe(0o755);
    expect((await stat(join(dir, 'same'))).ino).toBe((await stat(join(dir, 'sub/run.sh'))).ino);
    expect(await readlink(join(dir, 'outside'))).toBe('/etc/passwd');
    expect(await readlink(join(dir, 'dangling'))).toBe('../../nowhere');
    expect(await readFile(join(dir, 'deep/er/file'), 'utf8')).toBe('deep');
    for (const name of ['sub', 'sub/run.sh', 'outside']) {
      expect((await lstat(join(dir, name))).mtime).toEqual(mtime);
    }
    return dir;
  });
  await expect(stat(seen)).rejects.toThrow('ENOENT');
});

it.each([
  ['a name that leads out', { name: '../escaped' }],
  ['a file below a link', { name: 'link/file' }],
  ['a device', { name: 'null', type: 'character-device' as const }],
])('refuses %s, by name, before anything is built', async (_, header) => {
  const link = { header: { name: 'link', type: 'symlink' as const, linkname: '/tmp' } };
  let built = false;
  const laying = inContextFolder(tarOf([link, { header }]), () => Promise.resolve((built = true)));
  await expect(laying).rejects.toMatchObject({ failureClass: 'ImageMissing' });
  await expect(laying).rejects.toThrow(header.name);
  expect(built).toBe(false);
});
