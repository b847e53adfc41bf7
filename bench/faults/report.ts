// What the bench says at its end: a row a kind of fault, and the numbers that must all be 0.
import { formatTable } from '../../cli/output.ts';
import { median } from '../median.ts';
import type { Effect } from './effects.ts';
import type { InjectedFault } from './fault.ts';
import type { ScheduledFault } from './schedule.ts';

export interface KindRow {
  readonly kind: string;
  readonly injected: number;
  /** Trials that it hit, one by one: each that survived did so in its generation or by another. */
  readonly hit: number;
  readonly goingOn: number;
  readonly newGeneration: number;
  /** Seconds, as `Effect.lostMs` has them. Null where none was hit. */
  readonly lostSecMedian: number | null;
  readonly lostSecMax: number | null;
}

/** What must not be, one line each. */
export interface Findings {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly wrong: readonly string[];
  readonly orphans: readonly string[];
  readonly left: readonly string[];
}

export interface FaultReport {
  readonly seed: number;
  readonly injected: number;
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
  readonly orphans: number;
  readonly left: number;
  readonly byKind: readonly KindRow[];
  readonly wallSec: number;
  /** Planned. */
  readonly trials: number;
  readonly verdicts: number;
  /** Generations that were lost on the way, by their failure class. */
  readonly lostGenerations: Readonly<Record<string, number>>;
  /** Objects under their own digest that nothing names: work of a try that ended before it was recorded. */
  readonly unnamedBlobs: number;
  /** Replies that the models gave, and those that stand: what was asked again is the difference. */
  readonly sampled: number;
  readonly recorded: number;
  readonly findings: Findings;
  readonly schedule: readonly ScheduledFault[];
}

export interface ReportParts {
  readonly seed: number;
  readonly schedule: readonly ScheduledFault[];
  readonly faults: readonly InjectedFault[];
  readonly effects: readonly Effect[];
  readonly findings: Findings;
  readonly wallMs: number;
  readonly counts: Pick<
    FaultReport,
    'trials' | 'verdicts' | 'lostGenerations' | 'unnamedBlobs' | 'sampled' | 'recorded'
  >;
}

export function reportOf({
  seed,
  schedule,
  faults,
  effects,
  findings,
  wallMs,
  counts,
}: ReportParts): FaultReport {
  return {
    seed,
    injected: faults.length,
    lost: findings.lost.length,
    doubled: findings.doubled.length,
    wrong: findings.wrong.length,
    orphans: findings.orphans.length,
    left: findings.left.length,
    byKind: [...new Set(faults.map(({ kind }) => kind))].sort().map((kind) => rowOf(kind, faults, effects)),
    wallSec: Math.round(wallMs / 1_000),
    ...counts,
    findings,
    schedule,
  };
}

const seconds = (ms: number): number => Math.round(ms / 100) / 10;

function rowOf(kind: string, faults: readonly InjectedFault[], effects: readonly Effect[]): KindRow {
  const own = effects.filter((effect) => effect.kind === kind);
  const lostMs = own.map((effect) => effect.lostMs).filter((ms) => ms !== null);
  const count = (survived: Effect['survived']): number =>
    own.filter((effect) => effect.survived === survived).length;
  return {
    kind,
    injected: faults.filter((fault) => fault.kind === kind).length,
    hit: own.length,
    goingOn: count('going-on'),
    newGeneration: count('new-generation'),
    lostSecMedian: lostMs.length === 0 ? null : seconds(median(lostMs)),
    lostSecMax: lostMs.length === 0 ? null : seconds(Math.max(...lostMs)),
  };
}

/** Nothing lost, doubled, wrong, orphaned or left. */
export const isClean = ({ lost, doubled, wrong, orphans, left }: FaultReport): boolean =>
  lost + doubled + wrong + orphans + left === 0;

/** For people: the table, what should not be, and one line of numbers. */
export function formatReport(report: FaultReport): string {
  const table = formatTable(
    ['fault', 'injected', 'trials hit', 'went on', 'new generation', 'lost s, median', 'max'],
    report.byKind.map((row) => [
      row.kind,
      row.injected,
      row.hit,
      row.goingOn,
      row.newGeneration,
      row.lostSecMedian?.toFixed(1) ?? '-',
      row.lostSecMax?.toFixed(1) ?? '-',
    ]),
  );
  const found = Object.entries(report.findings).flatMap(([what, lines]: [string, readonly string[]]) =>
    lines.map((line) => `${what}: ${line}`),
  );
  const { seed, injected, trials, verdicts, lost, doubled, wrong, orphans, left } = report;
  const numbers = `${lost} lost, ${doubled} doubled, ${wrong} wrong, ${orphans} orphans, ${left} left`;
  return [
    table,
    ...found,
    `seed ${seed}: ${injected} faults in ${report.wallSec} s, ${verdicts} verdicts of ${trials} trials: ${numbers}: ${isClean(report) ? 'ok' : 'NOT ok'}`,
  ].join('\n');
}
