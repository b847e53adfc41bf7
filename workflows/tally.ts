// Counts of a sweep: by ending, result and failure class. Numbers only, however many trials.
import type { DoneTrials, TrialOutcome } from '../activities/types.ts';
import type { FailureClass } from '../domain/failures.ts';
import type { Tally } from './reports.ts';

type Counts<Name extends string> = Readonly<Partial<Record<Name, number>>>;

export const emptyTally: Tally = {
  counted: 0,
  endings: {},
  results: {},
  failures: {},
  lostGenerations: {},
  cancelled: 0,
};

const more = <Name extends string>(counts: Counts<Name>, name: Name, by = 1): Counts<Name> => ({
  ...counts,
  [name]: (counts[name] ?? 0) + by,
});

function sum<Name extends string>(a: Counts<Name>, b: Counts<Name>): Counts<Name> {
  let total = a;
  for (const name of Object.keys(b) as Name[]) total = more(total, name, b[name] ?? 0);
  return total;
}

/** One verdict more. */
export function addVerdict(tally: Tally, { ending, result }: TrialOutcome): Tally {
  return {
    ...tally,
    counted: tally.counted + 1,
    endings: ending === null ? tally.endings : more(tally.endings, ending),
    results: result === null ? tally.results : more(tally.results, result),
  };
}

/** Verdicts that an earlier run of the sweep has left. */
export function addDone(tally: Tally, done: DoneTrials): Tally {
  return {
    ...tally,
    counted: tally.counted + done.runs.reduce((trials, [, count]) => trials + count, 0),
    endings: sum(tally.endings, done.endings),
    results: sum(tally.results, done.results),
  };
}

/** One trial that ends without a verdict. */
export const addFailure = (tally: Tally, name: FailureClass): Tally => ({
  ...tally,
  failures: more(tally.failures, name),
});

/** One generation that is lost, and followed by another. */
export const addLostGeneration = (tally: Tally, name: FailureClass): Tally => ({
  ...tally,
  lostGenerations: more(tally.lostGenerations, name),
});

export const addCancelled = (tally: Tally): Tally => ({ ...tally, cancelled: tally.cancelled + 1 });
