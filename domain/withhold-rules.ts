// The rules of withholding, one predicate each: what of a delta could act on a verifier by itself.
import type { DeltaEntry, PristineFacts, Withheld } from './delta.ts';
import { isGitHook } from './bare-repositories.ts';
import { isWithin } from './paths.ts';
import { isDependency, isEnvironmentDir } from './withhold-dependencies.ts';
import { isToolStartup } from './withhold-homes.ts';

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

const pristine = ({ entry }: Candidate): boolean => entry.change !== 'added';

/** Where the system keeps code of its own, whatever PATH and the import paths say. */
const systemCode = /^(\/usr(\/local)?)?\/(lib|lib32|lib64|libx32|libexec)\//;
const packageDirs = /\/(site|dist)-packages\//;
const programDirs = /\/(bin|sbin|libexec)$/;
const interpreters =
  /^((python|pypy|pytest|py\.test|pip|uv|node|bash|sh|dash|perl|ruby)[0-9.]*|activate([._].*)?|Activate\.ps1)$/;

/** (a) A program, library or interpreter of the pristine image that is changed or removed. */
export function replacesProgram(candidate: Candidate, { facts }: RuleFacts): boolean {
  const { entry, dir, name } = candidate;
  if (!pristine(candidate)) return false;
  if (holdsSearchedDir(entry.path, facts) || facts.path.some((place) => place.dir === dir)) return true;
  if (systemCode.test(entry.path) || packageDirs.test(entry.path)) return true;
  if (facts.imports.some((place) => isWithin(entry.path, place.dir))) return true;
  if (facts.libraries.some((place) => place.dir === dir)) return true;
  if (dir === '/etc/alternatives' || isDependency(entry.path, facts.workdir)) return true;
  if (!programDirs.test(dir)) return false;
  return !isWithin(entry.path, facts.workdir) || isEnvironmentDir(dir) || interpreters.test(name);
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
  if (entry.path.includes('/glibc-hwcaps/') || shadowsImport(entry.path, facts)) return true;
  return shadowsInNewHome(entry.path, facts);
}

/** A delta's own /etc/passwd may name a home that the survey has not seen: its user folders are told by their path. */
function shadowsInNewHome(path: string, facts: PristineFacts): boolean {
  const [, program] = /\/\.local\/bin\/([^/]+)$/.exec(path) ?? [];
  if (program !== undefined) return facts.path.some(({ names }) => names.includes(program));
  const [, first] = /\/\.local\/lib\/python[0-9.]+\/site-packages\/([^/]+)/.exec(path) ?? [];
  if (first === undefined || deepestImport(path, facts) !== null) return false;
  return facts.imports.some(({ names }) => names.some((name) => stemOf(name) === stemOf(first)));
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

/** (b) What a shell reads when it starts, or another tool that verifiers use. */
export const startsShell = ({ entry, name }: Candidate, { facts }: RuleFacts): boolean =>
  shellFiles.test(entry.path) ||
  shellDotFiles.test(name) ||
  entry.path.endsWith('/.config/fish/config.fish') ||
  isToolStartup(entry.path, facts);

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
export function configuresGit(candidate: Candidate, { facts, bareRepositories }: RuleFacts): boolean {
  const { entry, dir, name } = candidate;
  if (name.endsWith('.sample')) return false;
  if (entry.path === '/etc/gitconfig' || gitGlobal.test(entry.path)) return true;
  if (name === '.git' || gitFolder.test(entry.path)) return true;
  if (name === 'config' || name === 'config.worktree') return bareRepositories.has(dir);
  if (!dir.endsWith('/hooks')) return false;
  if (bareRepositories.has(dir.slice(0, -'/hooks'.length))) return true;
  // A repository of the image of which the delta shows nothing else; in the work directory it may be a source of hooks.
  return isGitHook(entry.path) && (facts.workdir === '/' || !isWithin(entry.path, facts.workdir));
}

/** (e) Ours, the tests' and the verifier's own places, and whatever stands above them in their place. */
export const ownPlaces = ['/opt/passband', '/tests', '/logs'] as const;

export function isOwnPlace({ entry }: Candidate): boolean {
  if (ownPlaces.some((place) => isWithin(entry.path, place))) return true;
  const folder = entry.kind === 'directory' && entry.change !== 'deleted';
  return !folder && ownPlaces.some((place) => isWithin(place, entry.path));
}
