// Egress surveys: one for a sweep and a while, shared by its trials, and the sweep's start is where they may stop it.
import { beforeEach, describe, expect, it } from 'vitest';
import { Surveys } from '../../../activities/egress/surveys.ts';
import { ClassifiedError } from '../../../domain/errors.ts';
import type { EgressSurvey, SurveyRequest } from '../../../sandbox/egress.ts';
import { SandboxGone } from '../../../sandbox/port.ts';
import { settingsOf } from '../../support/sweep-data.ts';

const start = Date.parse('2026-01-01T00:00:00.000Z');
const minuteMs = 60_000;
const { signal } = new AbortController();

let asked: SurveyRequest[];
let now: number;
let answer: (request: SurveyRequest) => Promise<EgressSurvey>;
let endpointUrl: string;
let settingsRead: string[];
let surveys: Surveys;
beforeEach(() => {
  asked = [];
  settingsRead = [];
  now = start;
  endpointUrl = 'http://10.0.0.7:8000';
  answer = ({ targets }) =>
    Promise.resolve({
      targets: targets.map((target) => ({ ...target, provable: true, detail: 'answered' })),
      at: new Date(now).toISOString(),
    });
  surveys = new Surveys({
    driver: {
      surveyEgress: (request) => {
        asked.push(request);
        return answer(request);
      },
    },
    store: { url: 's3://b/p?endpoint=http://10.0.0.8:9000' },
    storeId: () => Promise.resolve('store'),
    settingsOf: (sweep) => {
      settingsRead.push(sweep);
      return Promise.resolve(
        settingsOf({
          endpoints: { m: { urls: [endpointUrl], servedName: null, apiKeyEnv: null, maxRequests: null } },
        }),
      );
    },
    env: {},
    now: () => new Date(now),
  });
});

describe('the survey of a sweep', () => {
  it('is asked for once, however many trials want it, with what finds it again and an end of its own', async () => {
    const given = await Promise.all([surveys.of('a', signal), surveys.of('a', signal)]);
    expect(given[0]).toBe(given[1]);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.name).toMatch(/^[a-z0-9-]{1,50}$/);
    expect(asked[0]?.labels).toEqual({
      'passband.store': 'store',
      'passband.sweep': 'a',
      'passband.workflow': 'sweep-a',
    });
    expect(asked[0]?.targets.map(({ name }) => name)).toEqual(['model endpoint m', 'store']);
    expect(asked[0]?.lifetimeSec).toBeGreaterThan(0);
    expect(asked[0]?.lifetimeSec).toBeLessThan(48 * 3_600);
  });

  it('reads the settings of its sweep once for all proofs of a while', async () => {
    await Promise.all([surveys.of('a', signal), surveys.of('a', signal), surveys.of('b', signal)]);
    await surveys.of('a', signal);
    expect(settingsRead.toSorted()).toEqual(['a', 'b']);
    now += minuteMs;
    await surveys.of('a', signal);
    expect(settingsRead).toHaveLength(3);
  });

  it('stands at a start on the settings that the sweep was started with', async () => {
    await surveys.of('a', signal);
    endpointUrl = 'http://10.0.0.9:8000';
    await surveys.begin('a', signal);
    expect(asked.map(({ targets }) => targets[0]?.host)).toEqual(['10.0.0.7', '10.0.0.9']);
  });

  it('is another one for another sweep, and anew a while after an endpoint was changed', async () => {
    await surveys.of('a', signal);
    await surveys.of('b', signal);
    endpointUrl = 'http://10.0.0.9:8000';
    now += minuteMs;
    await surveys.of('a', signal);
    const [first, other, changed] = asked;
    expect(other?.name).not.toBe(first?.name);
    expect(changed?.name).toBe(first?.name);
    expect(changed?.targets[0]?.host).toBe('10.0.0.9');
  });

  it('is asked for anew while what it was made from still lives, and under a new name before that ends', async () => {
    for (let hours = 0; hours < 48; hours += 1) {
      now = start + hours * 60 * minuteMs;
      await surveys.of('a', signal);
    }
    expect(asked).toHaveLength(48);
    const names = asked.map(({ name }) => name);
    expect(new Set(names).size).toBe(4);
    const lifetimeHours = (asked[0]?.lifetimeSec ?? 0) / 3_600;
    expect(names.lastIndexOf(names[0] ?? '')).toBeLessThan(lifetimeHours - 1);
  });

  it('C49: stops the sweep where it cannot be made at its start, and is waited for where it cannot be made later', async () => {
    const unprovable = new ClassifiedError('EgressUnprovable', 'API server does not answer the canary');
    answer = () => Promise.reject(unprovable);
    await expect(surveys.begin('a', signal)).rejects.toBe(unprovable);
    await expect(surveys.of('a', signal)).rejects.toMatchObject({
      failureClass: 'PlatformUnavailable',
      message: unprovable.message,
    });
    expect(asked).toHaveLength(2);
  });

  it('is waited for, at a start too, where its own pods are lost: no trial pays for a canary', async () => {
    const lost = { kind: 'gone', cause: 'platform', why: 'host-lost', reason: 'the node is away' } as const;
    const losses = [new SandboxGone(lost), new ClassifiedError('ImagePullTransient', 'busy')];
    for (const loss of losses) {
      answer = () => Promise.reject(loss);
      await expect(surveys.begin('a', signal)).rejects.toMatchObject({ failureClass: 'PlatformUnavailable' });
      await expect(surveys.of('a', signal)).rejects.toMatchObject({ failureClass: 'PlatformUnavailable' });
    }
    const forbidden = new ClassifiedError('Forbidden', 'no right');
    answer = () => Promise.reject(forbidden);
    await expect(surveys.of('a', signal)).rejects.toBe(forbidden);
  });

  it('goes on for the others where the trial that asked first is cancelled', async () => {
    const first = new AbortController();
    const held = Promise.withResolvers<EgressSurvey>();
    answer = () => held.promise;
    const cancelled = surveys.of('a', first.signal);
    const other = surveys.of('a', signal);
    await new Promise((go) => setTimeout(go, 5));
    first.abort(new Error('cancelled'));
    await expect(cancelled).rejects.toThrow('cancelled');
    held.resolve({ targets: [], at: 'now' });
    expect(await other).toEqual({ targets: [], at: 'now' });
    expect(asked).toHaveLength(1);
  });
});
