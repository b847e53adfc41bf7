// The rules of withholding, one predicate each: what of a delta could act on a verifier by itself.
import type { DeltaEntry, PristineFacts, Withheld } from './delta.ts';

export type WithholdRule = Withheld['rule'];

/** An entry as the rules see it, with the directory that holds it and its own name. */
export interface Candidate {
  readonly entry: DeltaEntry;
  readonly dir: string;
  readonly name: string;
}

/** What the rules ask of a pristine image and of the whole delta, worked out once a delta. */
export interface RuleFacts {
  readonly facts: PristineFacts;
  /** Directories of the delta that hold a git repository without a `.git` of that name. */
  readonly bareRepositories: ReadonlySet<string>;
}

/** True where `path` is `dir` or lies below it. */
export const isWithin = (path: string, dir: string): boolean =>
  path === dir || path.startsWith(dir === '/' ? '/' : `${dir}/`);

const pristine = ({ entry }: Candidate): boolean => entry.change !== 'added';

/** Where the system keeps code of its own, whatever PATH and the import paths say. */
const systemCode = /^(\/usr(\/local)?)?\/(lib|lib32|lib64|libx32|libexec)\//;
const packageDirs = /\/(site|dist)-packages\//;
const programDirs = /\/(bin|sbin|libexec)$/;
const interpreters = /^(python|pypy|pytest|py\.test|pip|uv|node|bash|sh|dash|perl|ruby)[0-9.]*$/;

/** (a) A program, library or interpreter of the pristine image that is changed or removed. */
export function replacesProgram(candidate: Candidate, { facts }: RuleFacts): boolean {
  const { entry, dir, name } = candidate;
  if (!pristine(candidate)) return false;
  if (holdsSearchedDir(entry.path, facts) || facts.path.some((place) => place.dir === dir)) return true;
  if (systemCode.test(entry.path) || packageDirs.test(entry.path)) return true;
  if (facts.imports.some((place) => isWithin(entry.path, place.dir))) return true;
  if (facts.libraries.some((place) => place.dir === dir)) return true;
  if (dir === '/etc/alternatives') return true;
  return programDirs.test(dir) && (!isWithin(entry.path, facts.workdir) || interpreters.test(name));
}

/** (a) A new file that is found by name before one of the pristine image. */
export function shadows(candidate: Candidate, { facts }: RuleFacts): boolean {
  const { entry, dir, name } = candidate;
  if (pristine(candidate)) return false;
  if (holdsSearchedDir(entry.path, facts)) return true;
  const place = facts.path.findIndex((searched) => searched.dir === dir);
  if (place >= 0 && facts.path.slice(place + 1).some(({ names }) => names.includes(name))) return true;
  if (isLibraryPlace(entry.path, facts) && facts.libraries.some(({ names }) => names.includes(name)))
    return true;
  return entry.path.includes('/glibc-hwcaps/') || shadowsImport(entry.path, facts);
}

/** A file or link that stands where a searched directory, or one above it, should: it moves the whole directory. */
const holdsSearchedDir = (path: string, facts: PristineFacts): boolean =>
  [...facts.path, ...facts.imports, ...facts.libraries].some(({ dir }) => isWithin(dir, path));

const isLibraryPlace = (path: string, facts: PristineFacts): boolean =>
  facts.libraries.some(({ dir }) => isWithin(path, dir)) && !packageDirs.test(path);

const moduleFile = /\.(py|pyc|so|pyd|pm|pl|ph|al)$/;
const stemOf = (name: string): string => name.split('.', 1)[0] ?? name;

function shadowsImport(path: string, facts: PristineFacts): boolean {
  const place = deepestImport(path, facts);
  if (place === null) return false;
  const [first = '', ...below] = path.slice(place.dir.length + 1).split('/');
  if (below.length > 0 && place.names.includes(first)) return true;
  if (below.length === 0 && !moduleFile.test(first)) return false;
  const module = below.length > 0 ? first : stemOf(first);
  return facts.imports
    .slice(facts.imports.indexOf(place))
    .some((later) =>
      later.names.some((name) => stemOf(name) === module && !(later === place && name === first)),
    );
}

const deepestImport = (path: string, facts: PristineFacts): PristineFacts['imports'][number] | null =>
  facts.imports
    .filter(({ dir }) => path !== dir && isWithin(path, dir))
    .reduce<PristineFacts['imports'][number] | null>(
      (best, place) => (best === null || place.dir.length > best.dir.length ? place : best),
      null,
    );

/**
 * Compiled Python below an import path: Python would run it in place of the source beside it. It is made again
 * from the source, so that withholding it never costs an honest trial anything.
 */
export const isBytecodeCache = (path: string, facts: PristineFacts): boolean =>
  /\/__pycache__\/[^/]+\.pyc$/.test(path) &&
  (packageDirs.test(path) || facts.imports.some(({ dir }) => isWithin(path, dir)));

const loaderFiles =
  /^\/etc\/(ld\.so\.(preload|conf|cache)|ld\.so\.conf\.d\/.*|ld-musl-[^/]*\.path|nsswitch\.conf|ssl\/openssl\.cnf)$/;

/** (b) What the loader, or a library of every program, reads before a program's own first line. */
export const startsLoader = ({ entry }: Candidate): boolean =>
  loaderFiles.test(entry.path) || entry.path === '/etc/ld.so.conf.d';

const shellFiles =
  /^\/etc\/(profile|profile\.d|profile\.d\/.*|environment|.*bashrc|zsh\/.*|z(shenv|shrc|profile|login)|csh\.[a-z]+|fish\/.*)$/;
const shellDotFiles =
  /^\.(profile|bash_profile|bash_login|bash_logout|bashrc|bash_aliases|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|mkshrc|shrc|shinit|cshrc|tcshrc|login|pam_environment)$/;

/** (b) What a shell reads when it starts. */
export const startsShell = ({ entry, name }: Candidate): boolean =>
  shellFiles.test(entry.path) || shellDotFiles.test(name) || entry.path.endsWith('/.config/fish/config.fish');

const pytestFiles = new Set([
  'conftest.py',
  'pytest.ini',
  '.pytest.ini',
  'pytest.toml',
  '.pytest.toml',
  'tox.ini',
  'setup.cfg',
  'pyproject.toml',
]);

/** (c) What Python and pytest load unasked. A `model.pth` of weights outside the import paths is no such file. */
export function startsPython({ entry, dir, name }: Candidate, { facts }: RuleFacts): boolean {
  if (pytestFiles.has(name) || /^(site|user)customize(\.|$)/.test(name)) return true;
  if (/\/(site|user)customize\//.test(entry.path) || name === 'pyvenv.cfg') return true;
  if (/\.(dist|egg)-info\/entry_points\.txt$/.test(entry.path)) return true;
  return (
    name.endsWith('.pth') &&
    (packageDirs.test(entry.path) || facts.imports.some((place) => place.dir === dir))
  );
}

const gitFolder = /\.git\/(.*\/)?(hooks|hooks\/[^/]+|config|config\.worktree)$/;
const gitGlobal = /\/(\.gitconfig|\.config\/git\/config)$/;

/** (d) git hooks and git configuration: either may name commands to run. Samples are inert. */
export function configuresGit({ entry, dir, name }: Candidate, { bareRepositories }: RuleFacts): boolean {
  if (name.endsWith('.sample')) return false;
  if (entry.path === '/etc/gitconfig' || gitGlobal.test(entry.path)) return true;
  if (name === '.git' || gitFolder.test(entry.path)) return true;
  if (name === 'config') return bareRepositories.has(dir);
  return dir.endsWith('/hooks') && bareRepositories.has(dir.slice(0, -'/hooks'.length));
}

/** (e) Ours, the tests' and the verifier's own places, and whatever stands above them in their place. */
export const ownPlaces = ['/opt/passband', '/tests', '/logs'] as const;

export function isOwnPlace({ entry }: Candidate): boolean {
  if (ownPlaces.some((place) => isWithin(entry.path, place))) return true;
  const folder = entry.kind === 'directory' && entry.change !== 'deleted';
  return !folder && ownPlaces.some((place) => isWithin(place, entry.path));
}
