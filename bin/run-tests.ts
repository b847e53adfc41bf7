// Runs the static checks, the toolbox's own tests and every vitest tier, and ends with «N passed, N failed».
import { spawnSync } from 'node:child_process';
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

let passed = 0;
let failed = 0;
for (const stage of stages) {
  console.log(`\n== ${stage.name}`);
  const [program, ...args] = stage.command;
  const run = spawnSync(program, args, {
    stdio: 'inherit',
    ...(stage.cwd === undefined ? {} : { cwd: stage.cwd }),
  });
  if (run.status === 0) passed += 1;
  else failed += 1;
}

const work = mkdtempSync(path.join(tmpdir(), 'passband-tests-'));
const reportFile = path.join(work, 'report.json');
const ownCluster = (process.env['PASSBAND_TEST_KUBECONFIG'] ?? '') === '';
const cluster = (verb: 'up' | 'down'): void => {
  if (!ownCluster) return;
  console.log(`\n== cluster ${verb}`);
  const run = spawnSync('bash', ['test/cluster/cluster.sh', verb], { stdio: 'inherit' });
  // A cluster that does not come up, or leaves something behind, is a failure and no reason to skip.
  if (run.status !== 0) failed += 1;
};

for (const project of ['unit', 'server', 'workflow', 's3', 'engine', 'e2e', 'cluster']) {
  if (project === 'cluster') cluster('up');
  console.log(`\n== tests: ${project}`);
  const run = spawnSync(
    'vitest',
    ['run', '--project', project, '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`],
    { stdio: 'inherit' },
  );
  const report = existsSync(reportFile)
    ? VitestReportSchema.safeParse(JSON.parse(readFileSync(reportFile, 'utf8')))
    : null;
  if (report?.success !== true) {
    failed += 1;
    continue;
  }
  passed += report.data.numPassedTests;
  // A skipped test is a test that did not run: it fails the run here, where everything has to run.
  failed += report.data.numFailedTests + report.data.numPendingTests + report.data.numTodoTests;
  if (run.status !== 0 && report.data.numFailedTests === 0) failed += 1;
  rmSync(reportFile);
}
cluster('down');
rmSync(work, { recursive: true, force: true });
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
