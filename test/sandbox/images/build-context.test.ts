import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parseBase } from '../../../sandbox/images/base-request.ts';
import { basesOf, readContext, sentContext } from '../../../sandbox/images/build-context.ts';
import { mirrorOf, suiteOf } from '../../../sandbox/images/debootstrap.ts';
import { readTar, tarOf, type Entry } from '../conformance/harness.ts';

const file = (name: string, content = ''): Entry => ({ header: { name }, content });
const folders: string[] = [];
const folder = async (): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), 'passband-test-'));
  folders.push(dir);
  return dir;
};

afterEach(async () => {
  for (const dir of folders.splice(0)) await rm(dir, { recursive: true });
});

describe('a build context', () => {
  it('names the bases of its Dockerfile: no stages, no scratch, defaults filled in', () => {
    const text = `ARG VERSION=12\nARG BASE=debian\nFROM \${BASE}:$VERSION AS Build\nFROM scratch\nFROM build AS b2\nFROM --platform=linux/amd64 r.example/x/y:1@sha256:abc\nFROM \${NONE:-alpine:3}\nCOPY --from=build /x /x\n`;
    expect(basesOf(text)).toEqual(['debian:12', 'r.example/x/y:1@sha256:abc', 'alpine:3']);
    expect(basesOf('nothing at all')).toEqual([]);
  });

  it('is sent without what .dockerignore leaves out, the Dockerfile always', async () => {
    const entries = [
      file('Dockerfile.task', 'FROM debian:12'),
      file('.dockerignore', '*\n!src\nsrc/*.log\n# a comment\n'),
      file('src/a.c'),
      file('src/b.log'),
      file('secret'),
    ];
    const facts = await readContext(tarOf(entries), './Dockerfile.task');
    expect(facts.bases).toEqual(['debian:12']);
    const sent = await readTar(sentContext(tarOf(entries), './Dockerfile.task', facts));
    expect([...sent.keys()]).toEqual(['Dockerfile.task', '.dockerignore', 'src/a.c']);
  });

  it('is sent as it is where there is no .dockerignore', async () => {
    const entries = [file('Dockerfile', 'FROM debian:12'), file('x')];
    const facts = await readContext(tarOf(entries), 'Dockerfile');
    expect(facts.ignored).toBeNull();
    expect([...(await readTar(sentContext(tarOf(entries), 'Dockerfile', facts))).keys()]).toEqual([
      'Dockerfile',
      'x',
    ]);
  });
});

describe('a base image to register', () => {
  it('is a folder, a tar or debootstrap with packages', async () => {
    const dir = await folder();
    await writeFile(join(dir, 'root.tar'), '');
    expect(await parseBase(`dsbase-venv312:local=${dir}`)).toEqual({
      name: 'dsbase-venv312:local',
      source: { kind: 'folder', path: dir },
    });
    expect((await parseBase(`r.example:5000/a/b:1=${dir}/root.tar`)).source.kind).toBe('tar');
    expect(await parseBase('debian:11=debootstrap:git,python3')).toEqual({
      name: 'debian:11',
      source: { kind: 'debootstrap', suite: 'bullseye', packages: ['git', 'python3'] },
    });
  });

  it.each(['debian:12', '=x', 'debian:12=', 'debian:12=/no/such/path', 'Not A Name=debootstrap'])(
    'is refused in one clear line: "%s"',
    async (text) => {
      await expect(parseBase(text)).rejects.toThrow(/give NAME=DIR, NAME=TAR or NAME=debootstrap/);
    },
  );

  it('has the release that its name asks for', () => {
    const names = [
      'debian:12',
      'docker.io/library/debian:bookworm-slim',
      'debian:11-slim',
      'ubuntu:22.04',
      'mine:local',
    ];
    expect(names.map(suiteOf)).toEqual(['bookworm', 'bookworm', 'bullseye', 'jammy', 'bookworm']);
  });

  it('comes from the mirror of this machine, in either format of apt', async () => {
    const dir = await folder();
    expect(await mirrorOf('debian', dir)).toBeNull();
    await writeFile(
      join(dir, 'sources.list'),
      '# x\ndeb [arch=amd64] http://old.example/debian bookworm main\n',
    );
    expect(await mirrorOf('debian', dir)).toBe('http://old.example/debian');
    await mkdir(join(dir, 'sources.list.d'));
    const text =
      'Types: deb\nURIs: http://sec.example/debian-security\n\nTypes: deb\nURIs: http://new.example/debian\n';
    await writeFile(join(dir, 'sources.list.d/debian.sources'), text);
    expect(await mirrorOf('debian', dir)).toBe('http://new.example/debian');
    expect(await mirrorOf('ubuntu', dir)).toBeNull();
  });
});
