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
   * that began before the fault was over or soon after, each counted from the fault's beginning at the earliest; less
   * what the same is as a rule over as long a time without any fault. Null where such a wait has never ended.
   */
  readonly lostMs: number | null;
}

/** A lost pod is known, and a request that failed is felt, by this time after the fault. */
const feltMs = 5_000;
/** Between two moments that are looked at to learn what is usual. */
const lookEveryMs = 1_000;

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export function effectsOf(faults: readonly InjectedFault[], writes: readonly Write[]): Effect[] {
  const byTrial = Map.groupBy(
    writes.map(trialWriteOf).filter((write) => write !== null),
    ({ trial }) => trial,
  );
  const calm = new Calm(faults, [...byTrial.values()].map(waitsOf));
  return faults.flatMap((fault) =>
    fault.hits.map((trial) => effectOf(fault, byTrial.get(trial) ?? [], calm)),
  );
}

function effectOf(fault: InjectedFault, writes: readonly TrialWrite[], calm: Calm): Effect {
  const { kind } = fault;
  const span = feltIn(fault);
  const touched = touching(waitsOf(writes), span);
  const endMs = Math.max(span.fromMs, ...touched.map(({ toMs }) => toMs));
  if (endMs === Infinity) return { kind, survived: 'none', lostMs: null };
  const isLost = writes.some(
    (write) => write.kind === 'failure' && write.atMs > span.fromMs && write.atMs < endMs,
  );
  return {
    kind,
    survived: isLost ? 'new-generation' : 'going-on',
    lostMs: Math.max(0, longestMs(touched, span) - calm.usualMs(span)),
  };
}

const feltIn = ({ fromMs, toMs }: Span): Span => ({ fromMs, toMs: toMs + feltMs });

const touching = (waits: readonly Span[], { fromMs, toMs }: Span): Span[] =>
  waits.filter((wait) => wait.fromMs < toMs && wait.toMs > fromMs);

const longestMs = (waits: readonly Span[], { fromMs }: Span): number =>
  Math.max(0, ...waits.map((wait) => wait.toMs - Math.max(wait.fromMs, fromMs)));

/**
 * A trial's waits from object to object; one that has not ended lasts for ever. A failure record ends none of them, and
 * after the verdict there are none.
 */
function waitsOf(writes: readonly TrialWrite[]): Span[] {
  const progress = writes.filter(({ kind }) => kind !== 'failure');
  return progress.flatMap(({ atMs, kind }, at) =>
    kind === 'verdict' ? [] : [{ fromMs: atMs, toMs: progress[at + 1]?.atMs ?? Infinity }],
  );
}

/** What trials wait where there is no fault. */
class Calm {
  readonly #faults: readonly Span[];
  readonly #trials: readonly (readonly Span[])[];
  readonly #known = new Map<number, number>();

  constructor(faults: readonly Span[], trials: readonly (readonly Span[])[]) {
    this.#faults = faults.map(feltIn);
    this.#trials = trials;
  }

  /** The median of the longest waits over as long a time, of all trials in flight at all calm moments; 0 of none. */
  usualMs({ fromMs, toMs }: Span): number {
    const seconds = Math.round((toMs - fromMs) / 1_000);
    const known = this.#known.get(seconds) ?? this.#learn(seconds * 1_000);
    this.#known.set(seconds, known);
    return known;
  }

  #learn(lengthMs: number): number {
    const seen = this.#trials.flatMap((waits) => {
      const [first, last] = [waits[0]?.fromMs ?? 0, waits.at(-1)?.toMs ?? 0];
      if (last === Infinity) return [];
      const moments = Array.from({ length: Math.ceil((last - first) / lookEveryMs) }, (_, at) => ({
        fromMs: first + at * lookEveryMs,
        toMs: first + at * lookEveryMs + lengthMs,
      }));
      return moments
        .filter((span) => touching(this.#faults, span).length === 0)
        .map((span) => longestMs(touching(waits, span), span));
    });
    return median(seen);
  }
}
