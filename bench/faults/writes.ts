// What the sweep's trials have written, and when: every object as the store acknowledged it.

/** One object of a trial. */
export interface Write {
  /** Milliseconds of `performance.now()` at which the store had it. */
  readonly atMs: number;
  readonly key: string;
}

export interface TrialWrite {
  readonly atMs: number;
  /** `SWEEP/TASK/MODEL/SCAFFOLD/NN`. */
  readonly trial: string;
  /** Null of a verdict. */
  readonly generation: number | null;
  /** A failure record says that a generation is lost: it moves nothing on. */
  readonly kind: 'progress' | 'failure' | 'verdict';
}

const ofTrial = /^v1\/sweeps\/([^/]+)\/trials\/([^/]+\/[^/]+\/[^/]+\/\d+)\/(.+)$/;
const ofFailure = /^failures\/(\d+)\.json$/;
const ofGeneration = /^g(\d+)\//;

/** What a write means for its trial; null where it belongs to none. */
export function trialWriteOf({ atMs, key }: Write): TrialWrite | null {
  const [, sweep, name, rest = ''] = ofTrial.exec(key) ?? [];
  if (sweep === undefined || name === undefined) return null;
  const head = { atMs, trial: `${sweep}/${name}` };
  if (rest === 'verdict.json') return { ...head, generation: null, kind: 'verdict' };
  const failure = ofFailure.exec(rest)?.[1];
  if (failure !== undefined) return { ...head, generation: Number(failure), kind: 'failure' };
  const generation = ofGeneration.exec(rest)?.[1];
  return generation === undefined ? null : { ...head, generation: Number(generation), kind: 'progress' };
}

export class WriteLog {
  readonly writes: Write[] = [];
  readonly #open = new Set<string>();
  readonly #done = new Set<string>();

  note(write: Write): void {
    this.writes.push(write);
    const of = trialWriteOf(write);
    if (of === null) return;
    if (of.kind === 'verdict') {
      this.#done.add(of.trial);
      this.#open.delete(of.trial);
    } else if (!this.#done.has(of.trial)) this.#open.add(of.trial);
  }

  /** Trials that have written something, and no verdict yet. */
  get inFlight(): readonly string[] {
    return [...this.#open];
  }

  hasVerdict(trial: string): boolean {
    return this.#done.has(trial);
  }

  get verdicts(): number {
    return this.#done.size;
  }

  /** When the last object was written; null before the first. */
  get lastMs(): number | null {
    return this.writes.at(-1)?.atMs ?? null;
  }
}
