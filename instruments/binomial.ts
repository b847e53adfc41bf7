// The exact two-sided binomial test.

/**
 * Probability, under n draws at rate p, of a count that is no likelier than x (two-sided by likelihoods, as R's
 * binom.test and SciPy's binomtest have it; ties within a relative 1e-7 count).
 */
export function binomialTest(x: number, n: number, p: number): number {
  if (n === 0) return 1;
  if (p <= 0 || p >= 1) return x === (p <= 0 ? 0 : n) ? 1 : 0;
  const logs: number[] = [n * Math.log1p(-p)];
  for (let k = 1; k <= n; k += 1) {
    logs.push((logs[k - 1] ?? 0) + Math.log((n - k + 1) / k) + Math.log(p) - Math.log1p(-p));
  }
  const bound = (logs[x] ?? Number.NEGATIVE_INFINITY) + Math.log1p(1e-7);
  return Math.min(
    1,
    logs.reduce((sum, log) => (log <= bound ? sum + Math.exp(log) : sum), 0),
  );
}
