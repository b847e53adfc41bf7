// Where tool chains and package managers keep what they install: code of others, that tests run and no task's own work.
import { isWithin } from './paths.ts';

/** Told by its name at any depth, in the work directory too. */
const anywhere = [
  'node_modules',
  '\\.bin',
  'vendor/bundle',
  '\\.bundle/(ruby|plugin)',
  'conda-meta',
  '\\.cargo/(bin|registry|git)',
  '\\.m2/(repository|wrapper)',
  '\\.gradle/(caches|wrapper)',
  '\\.nuget/packages',
  '\\.(rustup|gem|rbenv|rvm|nvm|pyenv|asdf|sdkman|conda|volta|bun|deno|dotnet|ghcup|cabal|stack|julia|hex|mix|cpan|cpanm)',
] as const;

/** Told by its name outside the work directory alone: in it these may be folders of the task's own. */
const elsewhere = [
  'gems',
  'pkg/mod',
  'rubygems-integration',
  'perl5',
  '(mini|ana)?conda[0-9]*',
  '(mini|mamba)forge[0-9]*',
  'micromamba',
  '(cargo|rustup)/(bin|registry|git|toolchains)',
  '(apache-)?maven[^/]*/(lib|boot|bin|conf)',
  'gradle[^/]*/(lib|bin|init\\.d)',
] as const;

/** A tool chain's own place, as images lay it out. */
const fixed = [
  '/usr/local/(go|cargo|rustup|bundle|openjdk[^/]*|julia[^/]*|rbenv|rvm|node[^/]*|share/(perl[^/]*|npm|ruby[^/]*))',
  '/usr/share/(nodejs|npm|node_modules|perl[^/]*|java|maven[^/]*|maven-repo|gradle[^/]*|ant|groovy|scala[^/]*|kotlin[^/]*|php|pear|ruby[^/]*|python[^/]*|tcltk|R|dotnet|cargo|rust[^/]*|go[^/]*|elixir|erlang|julia|lua|cmake[^/]*|automake[^/]*|autoconf|aclocal[^/]*|bison|git-core)',
  '/opt/(java|jdk[^/]*|maven[^/]*|apache-maven[^/]*|gradle[^/]*|conda|go|node[^/]*|ruby[^/]*|rubies|perl[^/]*|rust[^/]*|pypy[^/]*|python[^/]*|julia[^/]*|dotnet)',
  '/nix/store',
] as const;

const below = (roots: readonly string[]): RegExp => new RegExp(`/(${roots.join('|')})(/|$)`);
const anywherePattern = below(anywhere);
const elsewherePattern = below(elsewhere);
const fixedPattern = new RegExp(`^(${fixed.join('|')})(/|$)`);

/** Whether a path is a dependency root, or lies below one. A work directory inside a root is the task's own. */
export function isDependency(path: string, workdir: string): boolean {
  const own = workdir !== '/' && isWithin(path, workdir);
  if (anywherePattern.test(own ? path.slice(workdir.length) : path)) return true;
  return !own && (elsewherePattern.test(path) || fixedPattern.test(path));
}

/** The program folder of a virtual environment, by the names that they have. */
export const isEnvironmentDir = (dir: string): boolean =>
  /\/(\.?v?env[0-9.]*|\.?virtualenv|\.?virtualenvs\/[^/]+|\.(tox|nox)\/[^/]+)\/bin$/.test(dir);
