// The survey of a pristine image: where programs, modules and libraries are looked for, and what is there.
import type { PristineFacts } from '../../domain/delta.ts';
import type { Sandbox } from '../../sandbox/port.ts';

/** Where a program is looked for when the image names no PATH. */
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Folders of a home that set-up scripts put before everything else on PATH. */
const homeProgramDirs = ['.local/bin', 'bin', '.cargo/bin'] as const;

/** Import path of each interpreter that an image may have, one entry a line; user folders too, though nothing is there yet. */
const interpreters: readonly (readonly string[])[] = [
  ...['python3', 'python', 'python2'].map((name) => [
    name,
    '-c',
    // A user's own folder, once it is there, comes before the packages that the image holds.
    'import sys, site\nprint("\\n".join([site.getusersitepackages()] + [p for p in sys.path if p]))',
  ]),
  ['perl', '-e', 'print join("\\n", @INC), "\\n"'],
  ['ruby', '-e', 'puts $LOAD_PATH'],
];

/** The loader's directories: what ld.so.conf names, then its own, in the order of ldconfig. */
const libraryScript =
  'cat /etc/ld.so.conf /etc/ld.so.conf.d/*.conf /etc/ld-musl-*.path 2>/dev/null | tr ":" "\\n" | grep "^/"; ' +
  'm=$(uname -m); for d in "/lib/$m-linux-gnu" "/usr/lib/$m-linux-gnu" /lib /usr/lib /lib64 /usr/lib64 /usr/local/lib; do echo "$d"; done';

/** Resolves each argument where it can be, in order. */
const resolveScript = 'for d in "$@"; do readlink -f "$d" 2>/dev/null || echo "$d"; done';

const commandTimeoutMs = 30_000;

interface Search {
  readonly path: readonly string[];
  readonly imports: readonly string[];
  readonly libraries: readonly string[];
  readonly homes: readonly string[];
}

/**
 * Surveys an image in a sandbox of it in which nothing has run, with the image's environment. What the image has no
 * shell or interpreter to tell is not searched by one either.
 */
export async function surveyImage(
  sandbox: Sandbox,
  workdir: string,
  signal: AbortSignal,
): Promise<PristineFacts> {
  const ask = asker(sandbox, signal);
  const path = (await ask('path', ['sh', '-c', 'printf "%s\\n" "$PATH"']))[0] ?? defaultPath;
  const homes = homesOf(await ask('users', ['cat', '/etc/passwd']));
  const search: Search = {
    path: [
      ...homes.flatMap((home) => homeProgramDirs.map((dir) => `${home}/${dir}`)),
      ...path.split(':').filter((dir) => dir.startsWith('/')),
    ],
    imports: await importPaths(ask, homes, workdir),
    libraries: await ask('libraries', ['sh', '-c', libraryScript]),
    homes,
  };
  return factsOf(sandbox, await resolved(ask, search), workdir);
}

type Ask = (id: string, argv: readonly string[]) => Promise<string[]>;

/** Lines of a command's output; none where it cannot be run or fails. */
function asker(sandbox: Sandbox, signal: AbortSignal): Ask {
  return async (id, argv) => {
    const { exitCode, stdout } = await sandbox.run(
      { id: `survey-${id}`, argv, envBase: 'image', user: 0, timeoutMs: commandTimeoutMs },
      signal,
    );
    if (exitCode !== 0) return [];
    return Buffer.from(stdout)
      .toString()
      .split('\n')
      .filter((line) => line !== '');
  };
}

const rootHome = '/root';

/** Of the users that can log in: a verifier may be any of them. */
function homesOf(passwd: readonly string[]): string[] {
  const users = passwd.map((line) => line.split(':'));
  const homes = users
    .filter((fields) => !/\/(nologin|false|sync)$/.test(fields[6] ?? ''))
    .map((fields) => fields[5] ?? '');
  return unique([rootHome, ...homes.filter((home) => home.startsWith('/') && home !== '/')]);
}

async function importPaths(ask: Ask, homes: readonly string[], workdir: string): Promise<string[]> {
  const dirs: string[] = [];
  for (const [at, argv] of interpreters.entries()) dirs.push(...(await ask(`imports-${at}`, argv)));
  const everyUsers = dirs.flatMap((dir) =>
    dir.startsWith(`${rootHome}/`) ? homes.map((home) => home + dir.slice(rootHome.length)) : [dir],
  );
  return unique(everyUsers).filter((dir) => dir.startsWith('/') && dir !== workdir);
}

/** Paths of a delta hold no links: the directories are compared by what they resolve to. */
async function resolved(ask: Ask, search: Search): Promise<Search> {
  const dirs = unique([...search.path, ...search.imports, ...search.libraries]);
  const real = await ask('resolve', ['sh', '-c', resolveScript, 'sh', ...dirs]);
  const of = new Map(real.length === dirs.length ? dirs.map((dir, at) => [dir, real[at] ?? dir]) : []);
  const through = (some: readonly string[]): string[] => unique(some.map((dir) => of.get(dir) ?? dir));
  return {
    path: through(search.path),
    imports: through(search.imports),
    libraries: through(search.libraries),
    homes: search.homes,
  };
}

async function factsOf(
  sandbox: Sandbox,
  { path, imports, libraries, homes }: Search,
  workdir: string,
): Promise<PristineFacts> {
  const names = await sandbox.listNames(unique([...path, ...imports, ...libraries]));
  const place = (dir: string) => ({ dir, names: [...(names.get(dir) ?? [])] });
  return {
    path: path.map(place),
    imports: imports.map(place),
    libraries: libraries.map(place),
    homes: [...homes],
    workdir,
  };
}

const unique = (items: readonly string[]): string[] => [...new Set(items)];
