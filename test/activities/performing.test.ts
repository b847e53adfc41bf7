// The frame around an activity: which try it is, over every asking for it.
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { performing } from '../../activities/performing.ts';
import { triesInPlace } from '../../domain/backoff.ts';
import { ClassifiedError } from '../../domain/errors.ts';
import { quiet } from './fake-driver.ts';
import { openLab, type Lab } from './lab.ts';

let lab: Lab;
beforeEach(async () => {
  lab = await openLab({ behaviourOf: () => quiet });
});
afterEach(async () => {
  await lab.close();
});

it('counts the tries before a park as its own, and tells its body nothing else of them', async () => {
  const told: unknown[] = [];
  const activity = performing(lab.world, 'verify', (_, input: { readonly step: number }, run) => {
    told.push(input, run.attempt);
    return Promise.resolve(null);
  });
  await new MockActivityEnvironment({ attempt: 2 }).run(activity, { step: 0, earlierTries: triesInPlace });
  await new MockActivityEnvironment({ attempt: 1 }).run(activity, { step: 0 });
  expect(told).toEqual([{ step: 0 }, triesInPlace + 2, { step: 0 }, 1]);
});

it('says how many tries this asking has cost, and none of those before it', async () => {
  const away = performing(lab.world, 'verify', () => {
    throw new ClassifiedError('StoreUnavailable', 'away');
  });
  const asked = new MockActivityEnvironment({ attempt: triesInPlace }).run(away, { earlierTries: 12 });
  await expect(asked).rejects.toMatchObject({
    type: 'StoreUnavailable',
    nonRetryable: true,
    details: [{ phase: 'verify', attempt: triesInPlace }],
  });
});
