// A Debian or Ubuntu root made by debootstrap, from the mirror that this machine itself uses.
import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { InputError } from '../../domain/errors.ts';

const suites: Readonly<Record<string, string>> = {
  'debian:11': 'bullseye',
  'debian:12': 'bookworm',
  'debian:13': 'trixie',
  'ubuntu:20.04': 'focal',
  'ubuntu:22.04': 'jammy',
  'ubuntu:24.04': 'noble',
};
const defaultSuite = 'bookworm';

/** The release that an image's name asks for: `debian:12-slim` is bookworm, `debian:bookworm` too; else Debian 12. */
export function suiteOf(name: string): string {
  const short = name.slice(name.lastIndexOf('/') + 1).replace(/-slim$/, '');
  const known = suites[short];
  if (known !== undefined) return known;
  const tag = short.split(':')[1] ?? '';
  return Object.values(suites).includes(tag) ? tag : defaultSuite;
}

const isUbuntu = (suite: string): boolean => ['focal', 'jammy', 'noble'].includes(suite);

/** Makes the root at `dir`; the folder. InputError where debootstrap is not there, or fails. */
export async function debootstrap(
  dir: string,
  { suite, packages }: { readonly suite: string; readonly packages: readonly string[] },
  say: (line: string) => void,
  signal?: AbortSignal,
): Promise<string> {
  if (process.getuid?.() !== 0) {
    throw new InputError('debootstrap needs root: run this as root, or give a folder or a tar');
  }
  const include = [...new Set(['ca-certificates', ...packages])].join(',');
  const family = isUbuntu(suite) ? 'ubuntu' : 'debian';
  // Without one, debootstrap takes the distribution's own.
  const mirror = await mirrorOf(family, '/etc/apt');
  const from = mirror === null ? [] : [mirror];
  const child = spawn('debootstrap', ['--variant=minbase', `--include=${include}`, suite, dir, ...from], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // It unmounts what it mounted before it ends: the folder may be removed only after.
  const end = (): boolean => child.kill('SIGTERM');
  signal?.addEventListener('abort', end, { once: true });
  const last: string[] = [];
  const keep = (line: string): void => {
    say(line);
    if (last.push(line) > 5) last.shift();
  };
  createInterface({ input: child.stdout }).on('line', keep);
  createInterface({ input: child.stderr }).on('line', keep);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      const missing = error.code === 'ENOENT';
      reject(missing ? new InputError('debootstrap is not here: apt-get install debootstrap') : error);
    });
    child.on('close', resolve);
  });
  signal?.removeEventListener('abort', end);
  if (signal?.aborted === true) throw new InputError('interrupted: nothing was registered', 130);
  if (code !== 0) {
    throw new InputError(
      `debootstrap of ${suite} from ${mirror ?? 'its own mirror'} ended with ${code ?? 'a signal'}: ${last.join(' | ')}`,
    );
  }
  return dir;
}

/** The first mirror of this family that apt of this machine is set to; null where it is another distribution's. */
export async function mirrorOf(family: string, aptDir: string): Promise<string | null> {
  const listed = await readdir(join(aptDir, 'sources.list.d')).catch(() => []);
  const files = [
    ...listed.toSorted().map((name) => join(aptDir, 'sources.list.d', name)),
    join(aptDir, 'sources.list'),
  ];
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '');
    const uris = [...text.matchAll(/^(?:URIs:|deb(?:\s+\[[^\]]*\])?)\s+(https?:\S+)/gm)].map(
      (match) => match[1],
    );
    const mirror = uris.find((uri) => uri?.replace(/\/+$/, '').endsWith(`/${family}`));
    if (mirror !== undefined) return mirror;
  }
  return null;
}
