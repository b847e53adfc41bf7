// Faults of a model's server: it moves, hangs, refuses, and breaks off its replies.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from './chance.ts';
import { cutInToken, withoutDone, withoutFinish } from './event-streams.ts';
import type { FaultKind } from './fault.ts';
import { shortly, treats } from './outages.ts';
import type { Treat } from './treatment.ts';

const common = { area: 'model', cost: 1 } as const;
const sameTurn = 'the same turn is asked again, and nothing of the broken reply is in the context';

const json = { 'content-type': 'application/json' };

const errorBody = (status: number, message: string): string =>
  JSON.stringify({ error: { message, type: 'InternalServerError', param: null, code: status } });

function refusing(chance: Chance): Treat {
  const status = chance.pick([500, 502, 503, 504]) ?? 500;
  const answer = chance.oneIn(2)
    ? { status, headers: { 'content-type': 'text/html' }, body: `<html><body>${status}</body></html>` }
    : { status, headers: json, body: errorBody(status, 'the engine is not there') };
  return () => ({ kind: 'answer', answer, performed: false });
}

function tooMany(chance: Chance): Treat {
  const asks = chance.oneIn(2) ? { 'retry-after': String(Math.ceil(chance.between(0, 3))) } : {};
  const answer = { status: 429, headers: { ...json, ...asks }, body: errorBody(429, 'too many requests') };
  return () => ({ kind: 'answer', answer, performed: false });
}

/** Three of four replies, in their first or second token, the connection cut or the reply ended as if it were whole. */
const cutting =
  (chance: Chance): Treat =>
  () =>
    chance.oneIn(4)
      ? null
      : { kind: 'change', through: cutInToken(chance.oneIn(2) ? 1 : 2, chance.oneIn(2)) };

const endless =
  (chance: Chance): Treat =>
  () => ({ kind: 'change', through: chance.oneIn(2) ? withoutDone() : withoutFinish() });

const hanging = (): Treat => () => ({ kind: 'hang' });

export const modelFaults: readonly FaultKind[] = [
  {
    ...{ name: 'model-restart', weight: 3, ...common },
    recovered: 'the same turn is asked at the new address, which the sweep’s settings name',
    inject: async ({ scene, chance, hits, signal }) => {
      const { model } = scene.proxies;
      await model.away();
      hits(scene.writes.inFlight);
      try {
        await sleep(shortly(chance), undefined, { signal });
      } finally {
        await model.back({ elsewhere: true });
        await scene.sweeps.moveModels(`${model.url}/v1`);
      }
    },
  },
  {
    ...{ name: 'model-hang', weight: 4, ...common },
    recovered: sameTurn,
    inject: treats('model', hanging, shortly),
  },
  {
    ...{ name: 'model-429', weight: 4, ...common },
    recovered: 'the same turn is asked again, after the delay that was asked for',
    inject: treats('model', tooMany, shortly),
  },
  {
    ...{ name: 'model-5xx', weight: 4, ...common },
    recovered: 'the same turn is asked again',
    inject: treats('model', refusing, shortly),
  },
  {
    ...{ name: 'stream-cut', weight: 5, ...common },
    recovered: sameTurn,
    inject: treats('model', cutting, shortly),
  },
  {
    ...{ name: 'stream-no-done', weight: 3, ...common },
    recovered: 'a reply with its finish reason is whole, one without it is asked for again',
    inject: treats('model', endless, shortly),
  },
];
