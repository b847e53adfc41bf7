// Faults of the Kubernetes API server: away, slow, failing one call in ten.
import type { Chance } from './chance.ts';
import type { FaultKind } from './fault.ts';
import { goesAway, isSlow, treats } from './outages.ts';
import type { Answer, Treat, Treatment } from './treatment.ts';

const common = { area: 'platform', weight: 3, cost: 1 } as const;
const recovered = 'the same call, or the same activity, is asked again; pods that were made are adopted';

const status = (code: number, reason: string, headers: Answer['headers'] = {}): Answer => ({
  status: code,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
    ...{ message: 'a fault', reason, code },
  }),
});
const gateway: Answer = {
  status: 502,
  headers: { 'content-type': 'text/html' },
  body: '<html>gateway</html>',
};

/** What is done to a call that fails: refused, cut, or done and its answer lost on the way. */
function failureOf(chance: Chance): Treatment {
  const performed = chance.oneIn(3);
  const answers: readonly (readonly [Answer, boolean])[] = [
    [status(500, 'InternalError'), performed],
    [gateway, performed],
    [status(429, 'TooManyRequests', { 'retry-after': '1' }), false],
  ];
  const [answer, done] = (chance.oneIn(4) ? undefined : chance.pick(answers)) ?? [null, performed];
  return answer === null
    ? { kind: 'cut', after: done ? 'the-deed' : 'nothing' }
    : { kind: 'answer', answer, performed: done };
}

const oneInTen =
  (chance: Chance): Treat =>
  () =>
    chance.oneIn(10) ? failureOf(chance) : null;

export const platformFaults: readonly FaultKind[] = [
  { name: 'api-away', ...common, recovered, inject: goesAway('platform') },
  {
    ...{ name: 'api-slow', ...common },
    recovered: 'everything waits, and nothing of it is charged to an agent',
    inject: isSlow('platform', 100, 700),
  },
  { name: 'api-one-in-ten', ...common, recovered, inject: treats('platform', oneInTen) },
];
