// What doctor says of a machine's programs and disk, and what it does not do to find out.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { diskFinding, python, temporalProgram } from '../../cli/doctor-machine.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'doctor-'));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function program(name: string, script: string): Promise<void> {
  await mkdir(path.join(dir, 'bin'), { recursive: true });
  await writeFile(path.join(dir, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}
const env = (): NodeJS.ProcessEnv => ({
  PATH: path.join(dir, 'bin'),
  XDG_CACHE_HOME: path.join(dir, 'cache'),
});

it('asks for room where less than 5 GiB are free', () => {
  expect(diskFinding(6 * 1024 ** 3, '/s')).toMatchObject({ state: 'has', what: '6.0 GiB free at /s' });
  expect(diskFinding(1024 ** 3, '/s')).toMatchObject({
    state: 'note',
    what: '1.0 GiB free at /s',
    mend: 'make room: at least 5 GiB free are wanted',
  });
});

it('says that the first sweep would download the Temporal server, and downloads nothing', async () => {
  await program('python3', `echo called > ${dir}/called`);
  expect(await temporalProgram(env())).toMatchObject({
    state: 'note',
    what: expect.stringMatching(/not here: the first sweep downloads it/) as string,
    mend: expect.stringContaining('PASSBAND_TEMPORAL_BINARY') as string,
  });
  expect(await readdir(dir)).toEqual(['bin']);
});

it('finds the Temporal server that is here, and refuses a named one that cannot be run', async () => {
  await program('temporal', 'exit 0');
  expect(await temporalProgram(env())).toMatchObject({ state: 'has', what: path.join(dir, 'bin/temporal') });
  const named = { ...env(), PASSBAND_TEMPORAL_BINARY: path.join(dir, 'none') };
  expect(await temporalProgram(named)).toMatchObject({ state: 'lacks' });
});

it('tells python3 with pip from python3 alone, and from none', async () => {
  expect(await python(env())).toMatchObject({
    state: 'note',
    what: expect.stringMatching(/^not here/) as string,
  });
  await program('python3', 'echo "No module named pip" >&2; exit 1');
  expect(await python(env())).toMatchObject({ what: expect.stringMatching(/^here, without pip/) as string });
  await program('python3', 'echo "pip 23.0.1 from /usr/lib/python3/dist-packages/pip (python 3.11)"');
  expect(await python(env())).toEqual({ part: 'python3', state: 'has', what: 'with pip 23.0.1', mend: null });
});
