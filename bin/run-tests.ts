// Runs the static checks, the toolbox's own tests and every vitest tier, and ends with «N passed, N failed».
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';

interface Stage {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string;
}

const stages: readonly Stage[] = [
  { name: 'format', command: ['prettier', '--check', '--log-level', 'warn', '.'] },
  { name: 'types', command: ['tsc', '-p', '.'] },
  { name: 'lint', command: ['eslint', '.'] },
  { name: 'import directions', command: ['depcruise', '.'] },
  { name: 'dead code', command: ['knip'] },
  { name: 'toolbox vet', command: ['go', 'vet', './...'], cwd: 'toolbox/supervisor' },
  { name: 'toolbox tests', command: ['go', 'test', './...'], cwd: 'toolbox/supervisor' },
];

const VitestReportSchema = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int(),
  success: z.boolean(),
});

/** A tier that takes longer than this has hung: it fails, and the others run. The longest takes half an hour on 2 cores. */
const tierLimitMs = 50 * 60_000;

let passed = 0;
let failed = 0;
const took: string[] = [];

/** One line about it before, and the time that it took at the end. */
function timed<T>(title: string, work: () => T): T {
  console.log(`\n== ${title}`);
  const began = performance.now();
  try {
    return work();
  } finally {
    took.push(`${title} ${Math.round((performance.now() - began) / 1_000)} s`);
  }
}

const work = mkdtempSync(path.join(tmpdir(), 'passband-tests-'));
const reportFile = path.join(work, 'report.json');
const ownCluster = (process.env['PASSBAND_TEST_KUBECONFIG'] ?? '') === '';
if (ownCluster) buildAhead();

for (const stage of stages) {
  const [program, ...args] = stage.command;
  const run = timed(stage.name, () =>
    spawnSync(program, args, {
      stdio: 'inherit',
      ...(stage.cwd === undefined ? {} : { cwd: stage.cwd }),
    }),
  );
  if (run.status === 0) passed += 1;
  else failed += 1;
}
for (const project of ['unit', 'server', 'workflow', 's3', 'engine', 'e2e', 'cluster', 'nodes']) {
  if (project === 'cluster') cluster('up');
  runTier(project);
}
cluster('down');
rmSync(work, { recursive: true, force: true });
console.log(`\ntook: ${took.join(', ')}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/**
 * What the last tier runs is built from source, once: begun now, at the lowest priority, in the time that the tiers
 * before it wait for things. Whoever needs it waits for the same lock, and says what went wrong.
 */
function buildAhead(): void {
  const builds = 'bash test/cluster/cluster.sh build; sh test/terraform/build-tofu.sh';
  spawn('nice', ['-n', '19', 'sh', '-c', builds], { stdio: 'ignore' }).unref();
}

function cluster(verb: 'up' | 'down'): void {
  if (!ownCluster) return;
  const run = timed(`cluster ${verb}`, () =>
    spawnSync('bash', ['test/cluster/cluster.sh', verb], { stdio: 'inherit' }),
  );
  // A cluster that does not come up, or leaves something behind, is a failure and no reason to skip.
  if (run.status !== 0) failed += 1;
}

function runTier(project: string): void {
  const run = timed(`tests: ${project}`, () =>
    spawnSync(
      'vitest',
      [
        'run',
        '--project',
        project,
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${reportFile}`,
      ],
      { stdio: 'inherit', timeout: tierLimitMs, killSignal: 'SIGKILL' },
    ),
  );
  const report = existsSync(reportFile)
    ? VitestReportSchema.safeParse(JSON.parse(readFileSync(reportFile, 'utf8')))
    : null;
  rmSync(reportFile, { force: true });
  if (report?.success !== true) {
    failed += 1;
    return;
  }
  passed += report.data.numPassedTests;
  // A skipped test is a test that did not run: it fails the run here, where everything has to run.
  failed += report.data.numFailedTests + report.data.numPendingTests + report.data.numTodoTests;
  if (run.status !== 0 && report.data.numFailedTests === 0) failed += 1;
}
