// What every count must be before a formula sees it.

/** @throws RangeError unless both are integers and 0 <= passes <= n. */
export function checkCount(passes: number, n: number): void {
  if (Number.isInteger(passes) && Number.isInteger(n) && passes >= 0 && passes <= n) return;
  throw new RangeError(`${passes} of ${n} is not a count`);
}
