// pass@k: the probability that at least one of k attempts passes.
import { checkCount } from './counts.ts';

/**
 * The unbiased estimate of pass@k from `passes` of n attempts: 1 - C(n-passes, k) / C(n, k). Null where n < k: that
 * many attempts were not made. M. Chen et al., arXiv:2107.03374, as a product so that nothing overflows.
 */
export function passAtK(passes: number, n: number, k: number): number | null {
  checkCount(passes, n);
  if (!Number.isInteger(k) || k < 1) throw new RangeError(`k is ${k}: pass@k takes an integer from 1`);
  if (n < k) return null;
  if (n - passes < k) return 1;
  let allFail = 1;
  for (let i = n - passes + 1; i <= n; i += 1) allFail *= 1 - k / i;
  return 1 - allFail;
}

/** The mean of pass@k over the tasks that have it, with how many have; its value is null where none has. */
export function meanPassAtK(
  tasks: Iterable<{ readonly passes: number; readonly counted: number }>,
  k: number,
): { readonly value: number | null; readonly tasks: number } {
  let sum = 0;
  let having = 0;
  for (const { passes, counted } of tasks) {
    const value = passAtK(passes, counted, k);
    if (value === null) continue;
    sum += value;
    having += 1;
  }
  return { value: having === 0 ? null : sum / having, tasks: having };
}
