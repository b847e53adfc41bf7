// The progress of a sweep in one line.
import { expect, it } from 'vitest';
import { etaSince, progressLine } from '../../cli/progress.ts';
import type { SweepProgress } from '../../workflows/reports.ts';

const progress: SweepProgress = {
  counted: 6,
  planned: 24,
  endings: { completed: 5, 'agent-timeout': 1 },
  results: { passed: 2, failed: 4 },
  failures: {},
  lostGenerations: {},
  cancelled: 0,
  inFlight: 4,
  waiting: 0,
  parked: 0,
  paused: [],
  concurrency: 4,
  gates: { open: 1, inFlight: 1, kept: 1, unaudited: 0 },
  rejected: {},
  unformed: {},
  stopped: null,
};

it('says counts by ending and result, coverage, and the gates that are left', () => {
  expect(progressLine(progress)).toBe(
    '6/24 counted (coverage 0.250) | 4 running | 2 gates to pass (1 running) | results: passed 2, failed 4 | endings: completed 5, agent-timeout 1',
  );
});

it('says of gates alone nothing of trials', () => {
  const line = progressLine({ ...progress, planned: 0, counted: 0, inFlight: 0 });
  expect(line).toBe('2 gates to pass (1 running)');
});

it('has an ETA as soon as a trial was counted since it looked first, and none before', () => {
  let now = 5_000;
  const eta = etaSince(() => now);
  expect(eta(progress)).toBe('');
  now = 15_000;
  expect(eta(progress)).toBe('');
  expect(eta({ ...progress, counted: 8 })).toBe(' | ETA 80 s');
});

it('has no ETA while nothing can finish, and does not count that time into the pace', () => {
  let now = 0;
  const eta = etaSince(() => now);
  eta(progress);
  now = 10_000;
  const counted = { ...progress, counted: 8 };
  expect(eta(counted)).toBe(' | ETA 80 s');
  const away = { ...counted, inFlight: 0, parked: 4, gates: { ...progress.gates, inFlight: 0 } };
  const model = { ...away, paused: ['runEpisode: model m at http://m/v1: ECONNREFUSED'] };
  expect(eta(model)).toBe(' | waits for the model');
  now = 100_000;
  expect(eta({ ...away, paused: ['putVerdict: the store /s failed at v1/x'] })).toBe(
    ' | waits for what is away',
  );
  expect(eta({ ...model, inFlight: 1 })).toBe(' | ETA 80 s');
});

it('says failure classes, waits and generations begun anew where there are any', () => {
  const line = progressLine({
    ...progress,
    waiting: 2,
    failures: { SandboxLost: 1 },
    lostGenerations: { ExecBroken: 3 },
  });
  expect(line).toContain('2 waiting');
  expect(line).toContain('failures: SandboxLost 1');
  expect(line).toContain('begun anew: ExecBroken 3');
});

it('says what it is paused for, and how many wait for that', () => {
  const paused = ['runEpisode: model m at http://m/v1: ECONNREFUSED'];
  const line = progressLine({ ...progress, parked: 3, paused });
  expect(line).toContain('3 parked');
  expect(line).toContain('paused: runEpisode: model m at http://m/v1: ECONNREFUSED');
});
