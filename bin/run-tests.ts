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
  testResults: z.array(
    z.object({
      /** The file's path. */
      name: z.string(),
      status: z.string(),
      message: z.string().default(''),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});
type VitestReport = z.infer<typeof VitestReportSchema>;

/** A tier that takes longer than this has hung: it fails, and the others run. The longest takes half an hour on 2 cores. */
const tierLimitMs = 40 * 60_000;
/** After this nothing more is begun, and what was not run has failed: whoever ends the whole would hear of nothing. */
const totalLimitMs = 80 * 60_000;

let passed = 0;
/** What failed, a line or two each: told again at the end, where whoever keeps only the end of a log finds it. */
const failures: string[] = [];
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
  else failures.push(stage.name);
}
for (const project of ['unit', 'server', 'workflow', 's3', 'engine', 'e2e', 'cluster', 'nodes']) {
  if (project === 'cluster') cluster('up');
  runTier(project);
}
cluster('down');
rmSync(work, { recursive: true, force: true });
console.log(`\ntook: ${took.join(', ')}`);
if (failures.length > 0) console.log(`\nfailed:\n${failures.map((failure) => `- ${failure}`).join('\n')}`);
console.log(`\n${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;

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
  if (run.status !== 0) failures.push(`cluster ${verb}`);
}

/** Null where there is none, or half of one. */
function readReport(): VitestReport | null {
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
    failures.push(`tests: ${project}: not run, for the time was over`);
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
    failures.push(`tests: ${project}: ended without a report (status ${run.status}, signal ${run.signal})`);
    return;
  }
  passed += report.numPassedTests;
  const lost = failuresOf(report);
  failures.push(...lost);
  if (run.status !== 0 && lost.length === 0) failures.push(`tests: ${project}: status ${run.status}`);
}

/** Every test that did not pass, a skipped one too (here everything has to run), and every file that broke before its tests. */
function failuresOf(report: VitestReport): string[] {
  return report.testResults.flatMap((file) => {
    const name = path.relative(process.cwd(), file.name);
    const tests = file.assertionResults
      .filter((test) => test.status !== 'passed')
      .map((test) => `${name}: ${test.fullName}: ${excerpt(test.failureMessages?.[0] ?? test.status)}`);
    return tests.length === 0 && file.status !== 'passed' ? [`${name}: ${excerpt(file.message)}`] : tests;
  });
}

function excerpt(message: string): string {
  return message.replaceAll(/\s*\n\s*/g, ' | ').slice(0, 800);
}
