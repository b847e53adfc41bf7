// How much of a plan was counted, and what the uncounted and the disputed could still make of its rate.
import { checkCount } from './counts.ts';

export interface Tally {
  readonly planned: number;
  readonly counted: number;
  readonly passes: number;
  /** Counted as failed, though they pass with what was withheld from the verifier. */
  readonly disputed: number;
  /** Counted as failed, though repeated verifications disagree. */
  readonly unstable: number;
}

export interface Coverage {
  /** counted / planned. */
  readonly coverage: number | null;
  /** Complete-case rate: passes / counted. */
  readonly rate: number | null;
  /** passes / planned: every missing trial had failed. */
  readonly low: number | null;
  /** (passes + missing + disputed + unstable) / planned: every missing trial had passed, every doubtful one too. */
  readonly high: number | null;
}

/**
 * Coverage with the bounds beside it; null where the denominator is 0.
 * The bounds assume nothing of why trials are missing (C. F. Manski, American Economic Review 80 (1990) 319).
 */
export function coverageOf({ planned, counted, passes, disputed, unstable }: Tally): Coverage {
  checkCount(counted, planned);
  checkCount(passes + disputed + unstable, counted);
  const ofPlanned = (count: number): number | null => (planned === 0 ? null : count / planned);
  return {
    coverage: ofPlanned(counted),
    rate: counted === 0 ? null : passes / counted,
    low: ofPlanned(passes),
    high: ofPlanned(passes + (planned - counted) + disputed + unstable),
  };
}
