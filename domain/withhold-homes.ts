// Files of a home that a tool reads when it starts, and that may name commands, code or sources for it.
import type { PristineFacts } from './delta.ts';
import { isWithin } from './paths.ts';

const names = [
  // databases
  'sqliterc',
  'psqlrc',
  'my\\.cnf',
  'mongorc\\.js',
  'mongoshrc\\.js',
  'config/sqlite3/sqliterc',
  'duckdbrc',
  // packages and builds
  'npmrc',
  'yarnrc(\\.yml)?',
  'pip(/.*)?',
  'config/pip(/.*)?',
  'config/uv/uv\\.toml',
  'config/pypoetry/config\\.toml',
  'pydistutils\\.cfg',
  'condarc',
  'mambarc',
  'gemrc',
  'bundle/config',
  'cargo/(config|config\\.toml|env)',
  'config/go/env',
  'm2/(settings.*\\.xml|extensions\\.xml)',
  'mavenrc',
  'gradle/(gradle\\.properties|init\\.gradle.*|init\\.d(/.*)?)',
  'ant/ant\\.conf',
  'antrc',
  'composer/(config|auth|composer)\\.json',
  'config/composer/(config|auth|composer)\\.json',
  // interpreters and debuggers
  'irbrc',
  'pryrc',
  'rspec',
  'Rprofile',
  'Renviron',
  'ghci',
  'julia/config/startup\\.jl',
  'ipython/profile_[^/]+/(startup/.*|ipython_config\\.py)',
  'config/matplotlib/matplotlibrc',
  'pdbrc(\\.py)?',
  'proverc',
  'perltidyrc',
  'gdbinit',
  'config/gdb/gdb(early)?init',
  'lldbinit',
  // tools
  'curlrc',
  'config/curlrc',
  'wgetrc',
  'hgrc',
  'config/hg/hgrc',
  'subversion/config',
  'inputrc',
  'ansible\\.cfg',
] as const;

/** The home, without its closing slash, and the file in it. */
const homeFile = new RegExp(`^(.*)/\\.(${names.join('|')})$`);

/** The same for every user. */
const systemFiles =
  /^\/etc\/(postgresql-common\/)?psqlrc$|^\/etc\/(irbrc|gemrc|npmrc|pip\.conf|mavenrc)$|^\/usr(\/local)?\/etc\/(npmrc|gemrc)$/;

/**
 * Whether a tool that verifiers use starts by this file. A home may be one that the delta's own /etc/passwd names: so
 * that any folder but one in the work directory may be one.
 */
export function isToolStartup(path: string, { homes, workdir }: PristineFacts): boolean {
  if (systemFiles.test(path)) return true;
  const [, home] = homeFile.exec(path) ?? [];
  if (home === undefined) return false;
  return homes.includes(home) || !isWithin(path, workdir) || workdir === '/';
}
