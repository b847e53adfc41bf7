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
});

/** A tier that takes longer than this has hung: it fails, and the others run. The longest takes half an hour on 2 cores. */
const tierLimitMs = 40 * 60_000;
/** After this nothing more is begun, and what was not run has failed: whoever ends the whole would hear of nothing. */
const totalLimitMs = 80 * 60_000;

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

/** Null where there is none, or half of one. */
function readReport(): z.infer<typeof VitestReportSchema> | null {
  if (!existsSync(reportFile)) return null;
  try {
    return VitestReportSchema.parse(JSON.parse(readFileSync(reportFile, 'utf8')));
  } catch {
    return null;
  }
}

function runTier(project: string): void {
  const leftMs = totalLimitMs - performance.now();
  if (leftMs < 0) {
    console.log(`\n== tests: ${project}: not run, for the time is over`);
    failed += 1;
    return;
  }
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
      { stdio: 'inherit', timeout: Math.min(tierLimitMs, Math.ceil(leftMs)), killSignal: 'SIGKILL' },
    ),
  );
  const report = readReport();
  rmSync(reportFile, { force: true });
  if (report === null) {
    failed += 1;
    return;
  }
  passed += report.numPassedTests;
  // A skipped test is a test that did not run: it fails the run here, where everything has to run.
  failed += report.numFailedTests + report.numPendingTests + report.numTodoTests;
  if (run.status !== 0 && report.numFailedTests === 0) failed += 1;
}
