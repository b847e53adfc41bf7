// The steps of a task: [[steps]] with what each inherits, or the one step of a task without them.
import type { Artifact, Healthcheck, Step, User } from '../domain/task.ts';
import type { TaskConfig } from './config.ts';
import type { Findings } from './findings.ts';
import type { Layout } from './layout.ts';
import { setLimit, type LimitOverrides } from './limits.ts';
import type { StepTable, TaskToml } from './schema.ts';
import { stripCanary } from './text.ts';

export interface StepContext {
  readonly config: TaskConfig;
  readonly layout: Layout;
  readonly findings: Findings;
  readonly overrides: LimitOverrides;
  /** The verifier's image owns its /tests: the task need not hold any. */
  readonly ownsTests: boolean;
}

export async function readSteps(context: StepContext): Promise<Step[]> {
  const { steps } = context.config.toml;
  if (steps.length === 0) return [await singleStep(context)];
  checkNames(context);
  const read: Step[] = [];
  for (const step of steps) read.push(await oneStep(context, step));
  const unsolved = read.filter((step) => step.solutionDir === null).map((step) => step.name);
  if (unsolved.length > 0) {
    context.findings.warn({ file: 'steps' }, `no solution for ${unsolved.join(', ')}: the task is unaudited`);
  }
  return read;
}

async function singleStep(context: StepContext): Promise<Step> {
  const { layout, findings, overrides } = context;
  const { toml } = context.config;
  if (layout.hasDir('steps')) {
    findings.warn({ file: 'steps' }, 'is not used: task.toml has no [[steps]]');
  }
  const solutionDir = solutionIn(context, 'solution');
  if (solutionDir === null) {
    findings.warn(
      { file: 'solution' },
      'no solution/solve.sh: the gate has no oracle, the task is unaudited',
    );
  }
  return {
    name: 'main',
    instruction: await readInstruction(context, 'instruction.md'),
    testsDirs: checkTests(context, ['tests']),
    solutionDir,
    workdirDir: null,
    agentSec: setLimit('agentSec', overrides, toml.agent.timeout_sec),
    verifierSec: setLimit('verifierSec', overrides, toml.verifier.timeout_sec),
    agentUser: toml.agent.user ?? null,
    verifierUser: toml.verifier.user ?? null,
    verifierEnv: { ...toml.verifier.environment?.env, ...toml.verifier.env },
    healthcheck: null,
    artifacts: toml.artifacts.map(artifactOf),
    minReward: null,
  };
}

async function oneStep(context: StepContext, table: StepTable): Promise<Step> {
  const { layout, overrides } = context;
  const { toml } = context.config;
  const dir = `steps/${table.name}`;
  const user = (own: User | undefined, inherited: User | undefined): User => own ?? inherited ?? null;
  return {
    name: table.name,
    instruction: await readInstruction(context, `${dir}/instruction.md`),
    testsDirs: checkTests(context, ['tests', `${dir}/tests`]),
    solutionDir: solutionIn(context, `${dir}/solution`) ?? solutionIn(context, 'solution'),
    workdirDir: layout.hasDir(`${dir}/workdir`) ? `${dir}/workdir` : null,
    agentSec: setLimit('agentSec', overrides, table.agent.timeout_sec, toml.agent.timeout_sec),
    verifierSec: setLimit('verifierSec', overrides, table.verifier.timeout_sec, toml.verifier.timeout_sec),
    agentUser: user(table.agent.user, toml.agent.user),
    verifierUser: user(table.verifier.user, toml.verifier.user),
    verifierEnv: {
      ...toml.verifier.environment?.env,
      ...toml.verifier.env,
      ...table.verifier.environment?.env,
      ...table.verifier.env,
    },
    healthcheck: healthcheckOf(table.healthcheck),
    artifacts: [...toml.artifacts, ...table.artifacts].map(artifactOf),
    minReward: table.min_reward ?? null,
  };
}

export function healthcheckOf(table: TaskToml['environment']['healthcheck']): Healthcheck | null {
  if (table === undefined) return null;
  return {
    command: table.command,
    intervalSec: table.interval_sec,
    timeoutSec: table.timeout_sec,
    startPeriodSec: table.start_period_sec,
    startIntervalSec: table.start_interval_sec,
    retries: table.retries,
  };
}

function artifactOf(table: TaskToml['artifacts'][number]): Artifact {
  return {
    source: table.source,
    destination: table.destination ?? null,
    exclude: table.exclude,
    service: table.service ?? null,
  };
}

async function readInstruction(context: StepContext, path: string): Promise<string> {
  const written = await context.layout.readText(path, context.findings);
  const text = stripCanary(written ?? '');
  if (written !== null && text.trim() === '') {
    context.findings.warn({ file: path }, 'is empty: the agent is told nothing');
  }
  return text;
}

/** The tests folders that are there, later ones laid over earlier ones; a missing test.sh is an error. */
function checkTests(context: StepContext, dirs: readonly string[]): string[] {
  const { layout, findings, config } = context;
  const there = dirs.filter((dir) => layout.hasDir(dir));
  const own = dirs.at(-1) ?? 'tests';
  const names = config.toml.environment.os === 'windows' ? ['test.sh', 'test.bat'] : ['test.sh'];
  const found = there.some((dir) => names.some((name) => layout.hasFile(`${dir}/${name}`)));
  if (!found && !context.ownsTests) {
    const also = dirs.length > 1 ? ' (and there is no tests/test.sh for all steps)' : '';
    findings.error({ file: `${own}/test.sh` }, `is missing${also}: nothing would verify the work`);
  }
  return there.length > 0 ? there : [own];
}

function solutionIn(context: StepContext, dir: string): string | null {
  const names = context.config.toml.environment.os === 'windows' ? ['solve.sh', 'solve.bat'] : ['solve.sh'];
  return names.some((name) => context.layout.hasFile(`${dir}/${name}`)) ? dir : null;
}

const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

function checkNames({ config, layout, findings }: StepContext): void {
  const seen = new Map<string, string>();
  config.toml.steps.forEach(({ name }, index) => {
    const place = config.place('steps', index, 'name');
    const portable = !/[<>:"/\\|?*\p{Cc}]|[. ]$/u.test(name) && !reserved.test(name) && name.length <= 255;
    if (!portable) {
      findings.error(place, `must be a folder name on every system (it is ${JSON.stringify(name)})`);
    }
    const folded = name.normalize('NFKC').toLowerCase();
    const other = seen.get(folded);
    if (other !== undefined) findings.error(place, `is the name of another step too: ${other}`);
    seen.set(folded, name);
  });
  const stray = new Set(
    layout.folder.files.flatMap((file) => /^steps\/([^/]+)\/./.exec(file.path)?.[1] ?? []),
  );
  for (const { name } of config.toml.steps) stray.delete(name);
  for (const name of stray) findings.warn({ file: `steps/${name}` }, 'is not used: no [[steps]] names it');
}
