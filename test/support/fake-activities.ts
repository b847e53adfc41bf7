// Activities that answer at once and write down who asked: a task set of one-step tasks whose trials all pass.
import { ApplicationFailure } from '@temporalio/common';
import type { Activities, Subject, TrialOutcome } from '../../activities/types.ts';
import { triesInPlace } from '../../domain/backoff.ts';
import type { FailureClass } from '../../domain/failures.ts';
import type { PlanShape } from '../../domain/order.ts';

export const planRef = { key: 'v1/sweeps/s/plan.json', sha256: '0'.repeat(64), bytes: 1 };

export const passedOutcome: TrialOutcome = {
  counts: true,
  ending: 'completed',
  result: 'passed',
  failure: null,
  generations: 1,
};

export interface Call {
  readonly name: keyof Activities;
  readonly input: unknown;
}

export interface FakeWorld {
  readonly activities: Activities;
  readonly calls: Call[];
  /** Names of the activities that were asked for, in order, of one subject. */
  namesOf(subject: string): readonly string[];
  count(name: keyof Activities): number;
}

/** `trial 3 g1`, `oracle 0 separate g1`. */
export const subjectName = (subject: Subject): string =>
  subject.kind === 'trial'
    ? `trial ${subject.index} g${subject.generation}`
    : `${subject.agent} ${subject.task} ${subject.environmentMode} g${subject.generation}`;

/** `phase`: what the activity was at, where that is not its own name. */
export const failureOf = (
  failureClass: FailureClass,
  message = 'as told',
  phase: string | null = null,
): ApplicationFailure =>
  ApplicationFailure.create({
    type: failureClass,
    message,
    ...(phase === null ? {} : { details: [{ phase }] }),
  });

/** The last of the tries that are made in place, as a worker says it (activities/translate.ts). */
export const awayOf = (failureClass: FailureClass): ApplicationFailure =>
  ApplicationFailure.create({
    type: failureClass,
    message: 'away',
    nonRetryable: true,
    details: [{ phase: 'told', attempt: triesInPlace }],
  });

const hasSubject = (input: unknown): input is { readonly subject: Subject } =>
  typeof input === 'object' && input !== null && 'subject' in input;

/** The fake store counts generations per subject, as the real one does. */
export function fakeWorld(
  shape: PlanShape,
  overrides: Partial<Activities> = {},
  concurrency = 4,
  steps = 1,
): FakeWorld {
  const calls: Call[] = [];
  const generations = new Map<string, number>();
  const keyOf = (subject: Subject): string =>
    subjectName({ ...subject, generation: 0, environmentMode: 'shared' } as Subject);
  const base: Activities = {
    readPlan: () => Promise.resolve({ shape, concurrency }),
    beginSweep: () => Promise.resolve(),
    finishSweep: () => Promise.resolve(),
    probe: () => Promise.resolve(),
    readDone: () => Promise.resolve({ runs: [], endings: {}, results: {} }),
    readTrial: ({ subject }) =>
      Promise.resolve({
        times: {
          setupMs: 60_000,
          steps: Array.from({ length: steps }, (_, step) => ({
            name: `step-${step}`,
            agentMs: 60_000,
            verifierMs: 60_000,
          })),
        },
        done: null,
        generation: (generations.get(keyOf(subject)) ?? 0) + 1,
      }),
    readGate: () => Promise.resolve(null),
    prepareTask: () => Promise.resolve({ outcome: 'ready', environmentMode: 'separate' }),
    provision: () => Promise.resolve({ uid: 'uid', host: 'host' }),
    runEpisode: () => Promise.resolve({ ending: 'completed', turns: 2 }),
    takeDelta: () => Promise.resolve({ ending: null, finalState: true }),
    verify: () => Promise.resolve({ result: 'passed', reward: 1, goOn: true }),
    recordVerdict: () => Promise.resolve(passedOutcome),
    recordFailure: () => Promise.resolve({ interrupted: false }),
    cleanUp: () => Promise.resolve(),
    concludeGate: () => Promise.resolve({ outcome: 'kept', reason: null }),
  };
  const told: Activities = { ...base, ...overrides };
  const activities = Object.fromEntries(
    Object.entries(told).map(([name, activity]) => [
      name,
      (input: unknown) => {
        calls.push({ name: name as keyof Activities, input });
        if (name === 'provision' && hasSubject(input)) {
          generations.set(keyOf(input.subject), input.subject.generation);
        }
        return (activity as (input: unknown) => unknown)(input);
      },
    ]),
  ) as unknown as Activities;
  return {
    activities,
    calls,
    namesOf: (subject) =>
      calls.flatMap(({ name, input }) =>
        hasSubject(input) && subjectName(input.subject) === subject ? [name] : [],
      ),
    count: (name) => calls.filter((call) => call.name === name).length,
  };
}
