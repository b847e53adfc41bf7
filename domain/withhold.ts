// What of an agent's delta the verifier sees: a pure function of the delta, the pristine image and the solution's own paths.
import type { DeltaEntry, DeltaManifest, PristineFacts, Withheld } from './delta.ts';
import {
  configuresGit,
  isBytecodeCache,
  isOwnPlace,
  replacesProgram,
  shadows,
  startsLoader,
  startsPython,
  startsShell,
  type Candidate,
  type RuleFacts,
  type WithholdRule,
} from './withhold-rules.ts';
import { bareRepositoriesOf } from './bare-repositories.ts';
import { isWithin } from './paths.ts';

export interface WithholdInput {
  readonly manifest: Pick<DeltaManifest, 'entries' | 'refused'>;
  readonly facts: PristineFacts;
  /** Paths that the oracle's own delta changed: never withheld, but for /opt/passband, /tests and /logs. */
  readonly solutionPaths: readonly string[];
  /** The delta is the declared artifacts: /logs/artifacts is among them and goes in. */
  readonly artifacts: boolean;
}

export interface Withholding {
  /** Entries to lay, with the modes they are laid with. */
  readonly laid: readonly DeltaEntry[];
  readonly withheld: readonly Withheld[];
  /** Everything that can be laid at all: what a second verification sees; null where it would see nothing more. */
  readonly restored: readonly DeltaEntry[] | null;
}

/** setuid and setgid. */
const specialBits = 0o6000;
/** Wiped or refused in every verifier: putting them back would change nothing. */
const neverSeen = ['/opt/passband', '/tests', '/logs/verifier'] as const;

/**
 * Divides a delta into what a verifier sees and what is withheld from it, each path with its rule
 * (docs/failures.md, «What the verifier sees»). Deleted paths are entries as any other.
 */
export function withhold(input: WithholdInput): Withholding {
  const { manifest, facts } = input;
  const ruleFacts: RuleFacts = { facts, bareRepositories: bareRepositoriesOf(manifest.entries) };
  const solution = new Set(input.solutionPaths);
  const rules = new Map<string, WithholdRule>();
  for (const entry of manifest.entries) {
    const rule = ruleOf(candidateOf(entry), { ruleFacts, solution, artifacts: input.artifacts });
    if (rule !== null) rules.set(entry.path, rule);
  }
  for (const entry of manifest.entries) {
    const target = entry.kind === 'hardlink' && entry.target !== null ? rules.get(entry.target) : undefined;
    if (target !== undefined && !rules.has(entry.path)) rules.set(entry.path, target);
  }
  const losesBits = (entry: DeltaEntry): boolean => hasSpecialBits(entry) && !solution.has(entry.path);
  const laid = manifest.entries.filter(({ path }) => !rules.has(path));
  const withheld: Withheld[] = [
    ...[...rules].map(([path, rule]) => ({ path, rule })),
    ...laid.filter(losesBits).map(({ path }) => ({ path, rule: 'special-bits' as const })),
    ...manifest.refused.map(({ path }) => ({ path, rule: 'refused-entry' as const })),
  ];
  return {
    laid: laid.map((entry) => (losesBits(entry) ? { ...entry, mode: entry.mode & ~specialBits } : entry)),
    withheld,
    restored: withheld.some((one) => mayMatter(one, facts))
      ? manifest.entries.filter((entry) => !isDevice(entry) && !isNeverSeen(entry.path))
      : null,
  };
}

/** What no archive holds; a deleted path has no kind of its own. */
const isDevice = (entry: DeltaEntry): boolean => entry.kind === 'other' && entry.change !== 'deleted';

/** setgid on a directory only passes its group on: it is no privilege. */
export const hasSpecialBits = (entry: DeltaEntry): boolean =>
  entry.kind !== 'directory' && entry.change !== 'deleted' && (entry.mode & specialBits) !== 0;

const isNeverSeen = (path: string): boolean =>
  neverSeen.some((place) => isWithin(path, place) || isWithin(place, path));

const mayMatter = ({ path, rule }: Withheld, facts: PristineFacts): boolean =>
  rule !== 'refused-entry' && !isNeverSeen(path) && !isBytecodeCache(path, facts);

function candidateOf(entry: DeltaEntry): Candidate {
  const cut = entry.path.lastIndexOf('/');
  return { entry, dir: cut <= 0 ? '/' : entry.path.slice(0, cut), name: entry.path.slice(cut + 1) };
}

interface Exemptions {
  readonly ruleFacts: RuleFacts;
  readonly solution: ReadonlySet<string>;
  readonly artifacts: boolean;
}

const orderedRules: readonly (readonly [
  WithholdRule,
  (candidate: Candidate, facts: RuleFacts) => boolean,
])[] = [
  ['loader', startsLoader],
  ['shell-startup', startsShell],
  ['python-startup', startsPython],
  ['git-config', configuresGit],
  ['replaced-program', replacesProgram],
  ['shadowing', shadows],
];

function ruleOf(candidate: Candidate, { ruleFacts, solution, artifacts }: Exemptions): WithholdRule | null {
  const { entry } = candidate;
  if (isDevice(entry)) return 'refused-entry';
  if (artifacts && isWithin(entry.path, '/logs/artifacts')) return null;
  if (isOwnPlace(candidate)) return 'own-path';
  if (isBytecodeCache(entry.path, ruleFacts.facts)) return 'shadowing';
  if (solution.has(entry.path)) return null;
  // A directory that stays one only holds what is judged on its own.
  if (entry.kind === 'directory' && entry.change !== 'deleted') return null;
  return orderedRules.find(([, applies]) => applies(candidate, ruleFacts))?.[0] ?? null;
}
