// The report: rows that add up, and an exit that says whether all is well.
import { describe, expect, it } from 'vitest';
import { formatReport, isClean, reportOf, type ReportParts } from '../../../bench/faults/report.ts';

const nothing = { lost: [], doubled: [], wrong: [], orphans: [], left: [] };
const injected = (kind: string, ordinal: number) => ({ ordinal, kind, fromMs: 0, toMs: 1, hits: [] });
const parts: ReportParts = {
  seed: 7,
  schedule: [],
  faults: [injected('pod-delete', 1), injected('s3-away', 2), injected('pod-delete', 3)],
  effects: [
    { kind: 'pod-delete', survived: 'new-generation', lostMs: 20_000 },
    { kind: 'pod-delete', survived: 'going-on', lostMs: 1_040 },
    { kind: 'pod-delete', survived: 'none', lostMs: null },
  ],
  findings: nothing,
  wallMs: 61_400,
  counts: {
    ...{ trials: 10, verdicts: 10, lostGenerations: { SandboxLost: 1 } },
    ...{ unnamedBlobs: 0, sampled: 40, recorded: 38 },
  },
};

describe('reportOf', () => {
  it('has a row for each kind that was injected, whose trials add up', () => {
    expect(reportOf(parts).byKind).toEqual([
      {
        ...{ kind: 'pod-delete', injected: 2, hit: 3, goingOn: 1, newGeneration: 1 },
        ...{ lostSecMedian: 20, lostSecMax: 20 },
      },
      {
        ...{ kind: 's3-away', injected: 1, hit: 0, goingOn: 0, newGeneration: 0 },
        ...{ lostSecMedian: null, lostSecMax: null },
      },
    ]);
    expect(reportOf(parts)).toMatchObject({ seed: 7, injected: 3, wallSec: 61, trials: 10, verdicts: 10 });
  });

  it.each(['lost', 'doubled', 'wrong', 'orphans', 'left'] as const)(
    'is not clean with anything %s',
    (what) => {
      expect(isClean(reportOf(parts))).toBe(true);
      const report = reportOf({ ...parts, findings: { ...nothing, [what]: ['it'] } });
      expect(report[what]).toBe(1);
      expect(isClean(report)).toBe(false);
      expect(formatReport(report)).toContain(`${what}: it`);
      expect(formatReport(report)).toContain('NOT ok');
    },
  );

  it('is told as a table and one line of numbers', () => {
    const text = formatReport(reportOf(parts));
    expect(text).toMatch(/pod-delete +2 +3 +1 +1 +20\.0 +20\.0/);
    expect(text).toContain('seed 7: 3 faults in 61 s, 10 verdicts of 10 trials: 0 lost, 0 doubled');
  });
});
