// How sure a band is: the posterior mass of the central band's rates.
import betaCdf from '@stdlib/stats-base-dists-beta-cdf';
import { checkCount } from './counts.ts';

/**
 * p_central: the mass of [1/4, 3/4] under Beta(passes + 1/2, fails + 1/2), the posterior of the rate under Jeffreys'
 * prior. With nothing counted it is the prior's own mass, 1/3.
 */
export function centralMass(passes: number, n: number): number {
  checkCount(passes, n);
  const [alpha, beta] = [passes + 0.5, n - passes + 0.5];
  return betaCdf(0.75, alpha, beta) - betaCdf(0.25, alpha, beta);
}
