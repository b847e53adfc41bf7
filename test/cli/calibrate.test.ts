// What calibrate says: the verdict over what was counted, the coverage beside it, and why where it is not ok.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { calibrateSweep, calibrationReport, formatCalibration } from '../../cli/calibrate.ts';
import { planKey } from '../../domain/layout.ts';
import { PlanSchema } from '../../domain/sweep.ts';
import type { Calibration } from '../../instruments/calibrate.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import { putJson } from '../../store/objects.ts';
import type { Store } from '../../store/port.ts';
import { planOf } from '../support/sweep-data.ts';

const trial = { task: 't', model: 'known-rate-0.5', scaffold: 'terminus-2', attempt: 3 };
const model = {
  model: 'known-rate-0.5',
  scaffold: 'terminus-2',
  rate: 0.5,
  counted: 16,
  meant: 8,
  passed: 8,
  passRate: 0.5,
  pValue: 1,
};
const good: Calibration = { agree: 16, disagree: [], missing: [], perModel: [model], ok: true };

it('says coverage apart from the verdict, which is over what was counted', () => {
  const calibration = { ...good, missing: Array.from({ length: 48 }, () => trial) };
  expect(formatCalibration(calibration).split('\n').slice(-2)).toEqual([
    'calibration: 16 verdicts are what their model meant, 0 are not; 48 of 64 planned trials are missing (coverage 0.250)',
    'verdict over the 16 counted: ok (nothing is said of those that are missing)',
  ]);
  expect(formatCalibration(good)).toMatch(/verdict over the 16 counted: ok$/);
});

it('says of nothing counted that nothing is shown', () => {
  const nothing = { ...model, counted: 0, meant: 0, passed: 0, passRate: null };
  const calibration = { ...good, agree: 0, missing: [trial], perModel: [nothing], ok: false };
  expect(formatCalibration(calibration)).toMatch(
    /verdict over the 0 counted: NOT ok: nothing is counted, so nothing is shown$/,
  );
});

it('names each verdict that is not what was meant, and says what that means', () => {
  const disagree = [{ ...trial, meant: 'pass' as const, result: 'failed' as const, reward: 0 }];
  const text = formatCalibration({ ...good, agree: 15, disagree, ok: false });
  expect(text).toContain('disagrees: t known-rate-0.5 attempt 3: meant to pass, is failed (reward 0)');
  expect(text).toMatch(
    /NOT ok: 1 verdict is not what its model meant: what grades it moved it, or the models had another seed \(--seed\)$/,
  );
});

it('names the model whose rate chance does not explain', () => {
  const far = { ...model, model: 'known-rate-0.9', rate: 0.9, passed: 0, passRate: 0, pValue: 1e-16 };
  expect(formatCalibration({ ...good, perModel: [model, far], ok: false })).toMatch(
    /NOT ok: known-rate-0\.9 under terminus-2 passed 0 of 16, further from 0\.900 than chance explains \(p < 0\.001\), though each is what was meant: which trials are counted is no matter of chance$/,
  );
});

it('prints the same to programs, beside the fields of the comparison', () => {
  expect(calibrationReport({ ...good, missing: [trial] })).toEqual({
    ...good,
    missing: [trial],
    planned: 17,
    counted: 16,
    coverage: 16 / 17,
    why: null,
  });
});

describe('a sweep', () => {
  let folder: string;
  let store: Store;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'passband-calibrate-'));
    store = openFilesystemStore(folder);
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const plan = async (...names: readonly string[]): Promise<void> => {
    const digest = 'a'.repeat(64);
    const scaffolds = names.map((name) => ({ name, slug: name, version: '1', options: {}, digest }));
    const planned = { ...planOf({ sweep: 's', tasks: 1, models: { 'known-rate-0.5': 2 } }), scaffolds };
    await putJson(store, planKey('s'), PlanSchema, planned);
  };

  it('is compared under every scaffold that asks a model', async () => {
    await plan('bash', 'oracle', 'terminus-2');
    const { missing } = await calibrateSweep(store, 's', 7);
    expect(new Set(missing.map(({ scaffold }) => scaffold))).toEqual(new Set(['bash', 'terminus-2']));
    expect(missing).toHaveLength(4);
  });

  it('is refused where none of its scaffolds asks one', async () => {
    await plan('oracle', 'nop');
    await expect(calibrateSweep(store, 's', 7)).rejects.toThrow(/under a scaffold that asks one/);
  });
});
