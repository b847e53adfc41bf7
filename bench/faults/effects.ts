// What each fault did to the trials that it hit: how they went on, and the time that it cost them.
import { median } from '../median.ts';
import type { InjectedFault } from './fault.ts';
import { trialWriteOf, type TrialWrite, type Write } from './writes.ts';

/** One trial that a fault hit. */
export interface Effect {
  readonly kind: string;
  /** `none`: it has never got further. */
  readonly survived: 'going-on' | 'new-generation' | 'none';
  /**
   * Milliseconds: the longest that the trial waited for its next object (a turn, a phase, its verdict), of the waits
   * that the fault touched, each counted from the fault's beginning at the earliest; less what a trial usually waits
   * from a moment without any fault. Null where such a wait has never ended.
   */
  readonly lostMs: number | null;
}

/** Moments that are looked at to learn what is usual. */
const lookEveryMs = 500;

interface Wait {
  readonly fromMs: number;
  /** Null: it has not ended. */
  readonly toMs: number | null;
}

export function effectsOf(faults: readonly InjectedFault[], writes: readonly Write[]): Effect[] {
  const byTrial = Map.groupBy(
    writes.map(trialWriteOf).filter((write) => write !== null),
    ({ trial }) => trial,
  );
  const usual = usualWaitMs(faults, [...byTrial.values()]);
  return faults.flatMap((fault) =>
    fault.hits.map((trial) => effectOf(fault, byTrial.get(trial) ?? [], usual)),
  );
}

function effectOf(
  { kind, fromMs, toMs }: InjectedFault,
  writes: readonly TrialWrite[],
  usual: number,
): Effect {
  const touched = waitsOf(writes).filter(
    (wait) => wait.fromMs < toMs && (wait.toMs === null || wait.toMs > fromMs),
  );
  const endMs = Math.max(fromMs, ...touched.map((wait) => wait.toMs ?? Infinity));
  if (endMs === Infinity) return { kind, survived: 'none', lostMs: null };
  const lost = writes.some((write) => write.kind === 'failure' && write.atMs > fromMs && write.atMs < endMs);
  const longestMs = Math.max(0, ...touched.map((wait) => (wait.toMs ?? 0) - Math.max(wait.fromMs, fromMs)));
  return {
    kind,
    survived: lost ? 'new-generation' : 'going-on',
    lostMs: Math.max(0, longestMs - usual),
  };
}

/** A trial's waits from object to object: a failure record ends none of them, and after the verdict there are none. */
function waitsOf(writes: readonly TrialWrite[]): Wait[] {
  const progress = writes.filter(({ kind }) => kind !== 'failure');
  return progress.flatMap(({ atMs, kind }, at) =>
    kind === 'verdict' ? [] : [{ fromMs: atMs, toMs: progress[at + 1]?.atMs ?? null }],
  );
}

/** The median wait for the next object, of every trial at every moment of calm; of all moments where none is calm. */
function usualWaitMs(faults: readonly InjectedFault[], trials: readonly (readonly TrialWrite[])[]): number {
  const calm: number[] = [];
  const all: number[] = [];
  const isCalm = (atMs: number): boolean =>
    !faults.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs);
  for (const { fromMs, toMs } of trials.flatMap(waitsOf)) {
    if (toMs === null) continue;
    for (let atMs = fromMs + lookEveryMs / 2; atMs < toMs; atMs += lookEveryMs) {
      all.push(toMs - atMs);
      if (isCalm(atMs)) calm.push(toMs - atMs);
    }
  }
  return median(calm.length > 0 ? calm : all);
}
