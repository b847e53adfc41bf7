// Faults of the S3 server: away, slow, failing one request in ten, and losing uploads or their answers on the way.
import type { Chance } from './chance.ts';
import type { FaultKind } from './fault.ts';
import { goesAway, isSlow, treats } from './outages.ts';
import type { Answer, Treat } from './treatment.ts';

const common = { area: 'store', weight: 3, cost: 1 } as const;
const recovered = 'the same request, or the same activity, is asked again; what was written stands once';

const xml = (status: number, code: string): Answer => ({
  status,
  headers: { 'content-type': 'application/xml' },
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>a fault</Message></Error>`,
});

/** One request in ten: refused, or done and answered as refused. */
const oneInTen =
  (chance: Chance): Treat =>
  () =>
    chance.oneIn(10)
      ? {
          kind: 'answer',
          answer: chance.oneIn(2) ? xml(500, 'InternalError') : xml(503, 'SlowDown'),
          performed: chance.oneIn(3),
        }
      : null;

/** Every other write: its connection goes in the middle of its body, or when it is done and before that is said. */
const cutUploads =
  (chance: Chance): Treat =>
  ({ method }) =>
    (method === 'PUT' || method === 'POST') && chance.oneIn(2)
      ? { kind: 'cut', after: chance.oneIn(2) ? 'half-the-body' : 'the-deed' }
      : null;

export const storeFaults: readonly FaultKind[] = [
  { name: 's3-away', ...common, recovered, inject: goesAway('store') },
  {
    ...{ name: 's3-slow', ...common },
    recovered: 'everything waits, and nothing of it is charged to an agent',
    inject: isSlow('store', 200, 1_500),
  },
  { name: 's3-one-in-ten', ...common, recovered, inject: treats('store', oneInTen) },
  { name: 's3-cut-upload', ...common, recovered, inject: treats('store', cutUploads) },
];
