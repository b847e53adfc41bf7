// The checks of a bench's end over made-up stores: each finds what it is there for, and nothing else.
import { describe, expect, it } from 'vitest';
import * as layout from '../../../domain/layout.ts';
import {
  doubledThings,
  foreignReplies,
  lostTrials,
  wrongVerdicts,
  type TrialEnd,
} from '../../../bench/faults/checks.ts';
import { orphanKeys, strayGenerations, trialNamesOf } from '../../../bench/faults/store-keys.ts';
import { calibrate } from '../../../instruments/calibrate.ts';
import {
  generationPrefix,
  observationKey,
  phaseKey,
  planKey,
  refusalKey,
  replyKey,
  settingsKey,
  sharedGateKey,
  sweepGateKey,
  failureKey,
  gatePrefix,
  blobKey,
  trialPrefix,
  verdictKey,
} from '../../../domain/layout.ts';
import { preparedKey } from '../../../activities/ground.ts';
import { trialInPlan } from '../../../domain/sweep.ts';
import { planOf } from '../../support/sweep-data.ts';

const plan = planOf({ sweep: 'faults', tasks: 2, models: { 'known-rate-0.5': 2 } });
const first = trialInPlan(plan, 0);
const gateKey = first.task.gateKey;
const sha = 'ab'.repeat(32);
const side = gatePrefix(gateKey, 'faults/oracle-separate');
const stored = [
  'v1/store.json',
  'v1/check',
  planKey('faults'),
  settingsKey('faults'),
  sweepGateKey('faults', first.task.slug),
  refusalKey('faults', first.task.slug),
  verdictKey(first.path),
  failureKey(first.path, 1),
  replyKey(generationPrefix(trialPrefix(first.path), 2), 0, 3),
  observationKey(generationPrefix(trialPrefix(first.path), 2), 0, 3),
  layout.interruptionKey('faults'),
  layout.contextKey(generationPrefix(trialPrefix(first.path), 2), 0),
  ...['provision', 'barrier', 'begin', 'episode', 'delta', 'verify'].map((phase) =>
    phaseKey(generationPrefix(trialPrefix(first.path), 2), 0, phase),
  ),
  blobKey(sha),
  sharedGateKey(gateKey, [`sha256:${sha}`]),
  preparedKey(gateKey, 'faults'),
  phaseKey(generationPrefix(side, 1), 0, 'verify'),
];

describe('orphanKeys', () => {
  it('knows every key of the layout', () => {
    expect(orphanKeys(stored, [plan])).toEqual([]);
    // Whoever adds a maker of keys adds one of its keys above.
    expect(Object.keys(layout).filter((name) => name.endsWith('Key'))).toHaveLength(13);
  });

  it.each([
    'v1/blobs/cd/' + sha,
    'v1/blobs/ab/short',
    'v1/sweeps/other/plan.json',
    'v1/sweeps/faults/plan.json.tmp',
    'v1/sweeps/faults/gates/unplanned.json',
    `${trialPrefix({ ...first.path, attempt: 3 })}verdict.json`,
    `${trialPrefix(first.path)}g001/s00/half.json`,
    `${trialPrefix(first.path)}g001/s00/turns/1-reply.json`,
    'v1/gates/' + 'cd'.repeat(32) + '/gate-sha256-ab.json',
    '.tmp/upload',
    'passband-faults',
  ])('finds what belongs to nothing: %s', (key) => {
    expect(orphanKeys([...stored, key], [plan])).toEqual([key]);
  });
});

describe('strayGenerations', () => {
  const [name = ''] = trialNamesOf(plan);
  const begun = (n: number): string => phaseKey(generationPrefix(trialPrefix(first.path), n), 0, 'provision');

  it('finds none where every earlier generation left its failure', () => {
    const keys = [begun(1), failureKey(first.path, 1), begun(2), verdictKey(first.path)];
    expect(strayGenerations(keys, new Map([[name, { generation: 2 }]]))).toEqual([]);
  });

  it('finds one that left none, and one that is later than the verdict', () => {
    const verdicts = new Map([[name, { generation: 2 }]]);
    expect(strayGenerations([begun(1), begun(2)], verdicts)).toEqual([`${name} g001`]);
    expect(strayGenerations([begun(2), begun(3)], verdicts)).toEqual([`${name} g003`]);
  });

  it('says nothing of trials without a verdict: they are lost already', () => {
    expect(strayGenerations([begun(1)], new Map())).toEqual([]);
  });
});

const end = (fields: Partial<TrialEnd> = {}): TrialEnd => ({
  trial: 'faults/task/known-rate-0.5/terminus-2/01',
  verdict: { ending: 'completed', result: 'passed', generation: 1 },
  failure: null,
  way: null,
  ...fields,
});

describe('lostTrials', () => {
  it('finds a trial without a verdict, with or without a failure, and takes a budget for honest', () => {
    const failed = { failureClass: 'SandboxLost', message: 'gone' } as const;
    expect(lostTrials([end()])).toEqual([]);
    expect(lostTrials([end({ verdict: null })])).toEqual([expect.stringContaining('no trace')]);
    expect(lostTrials([end({ verdict: null, failure: failed })])).toEqual([
      expect.stringContaining('SandboxLost: gone'),
    ]);
    const budget = { failureClass: 'BudgetExhausted', message: 'it does not fit' } as const;
    expect(lostTrials([end({ verdict: null, failure: budget })])).toEqual([]);
  });
});

describe('wrongVerdicts', () => {
  it.each([
    [null, 'completed'],
    ['gives-up-early', 'completed'],
    ['never-finishes', 'agent-timeout'],
    ['eats-memory', 'agent-oom'],
    ['fills-disk', 'agent-disk-full'],
  ] as const)('takes the ending that was meant: %s', (way, ending) => {
    const verdict = { ending, result: 'failed', generation: 1 } as const;
    expect(wrongVerdicts([end({ way, verdict })], [])).toEqual([]);
  });

  it('finds an end that was not the agent’s own doing, even where it fails as meant', () => {
    const verdict = { ending: 'agent-oom', result: 'failed', generation: 1 } as const;
    expect(wrongVerdicts([end({ way: 'gives-up-early', verdict })], [])).toHaveLength(1);
    expect(
      wrongVerdicts([end({ way: 'eats-memory', verdict: { ...verdict, ending: 'terminal-lost' } })], []),
    ).toHaveLength(1);
  });

  it('finds a result that is not what was meant', () => {
    const row = { task: 'task', model: 'known-rate-1', scaffold: 'terminus-2', attempt: 1 };
    const calibration = calibrate([{ ...row, verdict: { result: 'failed', reward: 0 } }], 7);
    expect(wrongVerdicts([], [calibration])).toEqual(['task known-rate-1 1: meant to pass, is failed']);
  });
});

describe('doubledThings', () => {
  const key = replyKey(generationPrefix(trialPrefix(first.path), 1), 0, 2);
  const verdict = verdictKey(first.path);

  it('finds an object that the store took twice, where it may be written once', () => {
    const writes = [verdict, settingsKey('faults'), blobKey(sha)].flatMap((key) => [
      { atMs: 1, key },
      { atMs: 2, key },
    ]);
    expect(doubledThings(writes, [])).toEqual([`${verdict} was written twice`]);
  });

  it('finds a reply that was asked for after its record stood', () => {
    const writes = [{ atMs: 1_000, key }];
    expect(doubledThings(writes, [{ atMs: 900, key }])).toEqual([]);
    expect(doubledThings(writes, [{ atMs: 60_000, key }])).toEqual([`${key} was sampled again`]);
  });

  it('takes tries of one turn before its record for what they are', () => {
    const tries = [100, 500, 900].map((atMs) => ({ atMs, key }));
    expect(doubledThings([{ atMs: 1_000, key }], tries)).toEqual([]);
  });
});

describe('foreignReplies', () => {
  const key = replyKey(generationPrefix(trialPrefix(first.path), 1), 0, 2);

  it('finds a reply that stands and was never given', () => {
    expect(foreignReplies([...stored, key], [{ atMs: 1, key }])).toEqual([
      expect.stringContaining(stored[8] ?? 'none'),
    ]);
  });

  it('takes what was given and does not stand for what it is', () => {
    expect(
      foreignReplies(
        [key],
        [
          { atMs: 1, key },
          { atMs: 2, key: `${key}x` },
        ],
      ),
    ).toEqual([]);
  });
});
