// Twenty seeded faults of all kinds on the test cluster: nothing lost, nothing twice, nothing wrong, nothing left.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ownCluster } from '../support/cluster.ts';
import { root } from '../support/passband.ts';

const count = 20;
/** Four minutes on 2 cores. A sweep that stands still is ended, and what it said is the failure. */
const benchMs = 900_000;
const closingMs = 120_000;

const ReportSchema = z.object({
  injected: z.int(),
  lost: z.int(),
  doubled: z.int(),
  wrong: z.int(),
  orphans: z.int(),
  left: z.int(),
  trials: z.int(),
  verdicts: z.int(),
  byKind: z.array(z.object({ kind: z.string(), injected: z.int() })),
  findings: z.record(z.string(), z.array(z.string())),
  schedule: z.array(z.object({ kind: z.string() })),
});

/** What the bench prints, clean or not. */
async function runBench(): Promise<z.infer<typeof ReportSchema>> {
  const args = [path.join(root, 'bench/faults.ts'), '--count', String(count), '--seed', '1', '--json'];
  const options = { maxBuffer: 64 * 1024 ** 2, timeout: benchMs - closingMs, killSignal: 'SIGTERM' } as const;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, options).catch(
    (error: unknown) => z.object({ stdout: z.string(), stderr: z.string() }).parse(error),
  );
  if (stdout === '') throw new Error(stderr);
  return ReportSchema.parse(JSON.parse(stdout));
}

describe.runIf(ownCluster)('a sweep under twenty faults', () => {
  let report: z.infer<typeof ReportSchema>;
  beforeAll(async () => {
    report = await runBench();
  }, benchMs);

  test('loses no trial, doubles none, gets none wrong, and leaves nothing', () => {
    const { lost, doubled, wrong, orphans, left } = report;
    expect({ lost, doubled, wrong, orphans, left }, JSON.stringify(report.findings)).toEqual({
      ...{ lost: 0, doubled: 0, wrong: 0, orphans: 0, left: 0 },
    });
    expect(report.verdicts).toBe(report.trials);
    expect(report.trials).toBeGreaterThan(0);
  });

  test('suffers every fault of its schedule, nearly one of each kind', () => {
    const injected = Object.fromEntries(report.byKind.map((row) => [row.kind, row.injected]));
    const scheduled = Map.groupBy(report.schedule, ({ kind }) => kind);
    expect(injected).toEqual(Object.fromEntries([...scheduled].map(([kind, { length }]) => [kind, length])));
    expect(report.injected).toBe(count);
    expect(scheduled.size).toBe(count);
  });
});
