// The interval of a rate: Wilson's score interval.
import quantile from '@stdlib/stats-base-dists-normal-quantile';
import { checkCount } from './counts.ts';

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * Wilson's interval of `passes` out of `n`; null where n is 0, for nothing was seen.
 * E. B. Wilson, JASA 22 (1927) 209: the p for which |p̂ - p| = z·sqrt(p(1-p)/n).
 */
export function wilsonInterval(passes: number, n: number, confidence = 0.95): Interval | null {
  checkCount(passes, n);
  if (n === 0) return null;
  const z = quantile(1 - (1 - confidence) / 2, 0, 1);
  const rate = passes / n;
  const scale = 1 + z ** 2 / n;
  const centre = (rate + z ** 2 / (2 * n)) / scale;
  const half = (z / scale) * Math.sqrt((rate * (1 - rate)) / n + z ** 2 / (4 * n ** 2));
  // At the ends the exact bound is 0 or 1, which rounding would miss.
  return { low: passes === 0 ? 0 : centre - half, high: passes === n ? 1 : centre + half };
}
