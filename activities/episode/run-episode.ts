// One step's episode: the scaffold run over the recorded ports, from the start or over the records of a lost worker.
import type { EpisodeEnd, Scaffold, TerminalSettings } from '../../domain/ports.ts';
import { slugOf } from '../../domain/slug.ts';
import type { Sandbox } from '../../sandbox/port.ts';
import { scaffoldNamed } from '../../scaffolds/index.ts';
import { envOf } from '../environment.ts';
import { endPhase, phases, readPhase, type BeginRecord, type EpisodeRecord } from '../phase-records.ts';
import { openAgentSandbox } from '../provision.ts';
import { beginStep } from '../step-begin.ts';
import { resolveSubject, stepAt, type Grading } from '../subject.ts';
import type { EpisodeOutcome, StepInput } from '../types.ts';
import { readSettings, type Run, type World } from '../world.ts';
import { AgentClock } from './clock.ts';
import { endingOf, TimeUp, type EpisodeEnding } from './ending.ts';
import { RecordedModel } from './recorded-model.ts';
import { RecordedTerminal } from './recorded-terminal.ts';
import { EpisodeSession } from './session.ts';
import { summarise, type EpisodeNotes } from './summary.ts';
import { TurnRecords } from './turn-records.ts';
import { watchSandbox } from '../sandbox-watch.ts';

export async function runEpisode(
  world: World,
  { subject, step }: StepInput,
  run: Run,
): Promise<EpisodeOutcome> {
  const grading = await resolveSubject(world, subject);
  const before = await readPhase(world, phases.episode(grading, step));
  const record =
    before ?? (await endPhase(world, phases.episode(grading, step), await play(world, grading, step, run)));
  return { ending: record.ending, turns: record.summary.turns };
}

interface Cast {
  readonly scaffold: Scaffold;
  readonly options: Readonly<Record<string, unknown>>;
}

function castOf({ actor }: Grading): Cast {
  const name = actor.kind === 'gate' ? actor.agent : actor.scaffold.name;
  const scaffold = scaffoldNamed(name);
  return { scaffold, options: scaffold.parseOptions(actor.kind === 'gate' ? {} : actor.scaffold.options) };
}

/** `<sweep>/<task slug>/<model slug>/<scaffold slug>/<attempt>/<generation>/<step slug>` */
function sessionIdOf({ actor, plan, task, generation }: Grading, stepName: string): string {
  const step = slugOf(stepName);
  const parts =
    actor.kind === 'gate'
      ? [plan.sweep, task.slug, 'gate', actor.agent, 1, generation, step]
      : [plan.sweep, task.slug, actor.model.slug, actor.scaffold.slug, actor.trial.attempt, generation, step];
  return parts.join('/');
}

/** What an episode is played with; the sandbox comes to it when it begins. */
interface Stage {
  readonly grading: Grading;
  readonly index: number;
  readonly run: Run;
  readonly cast: Cast;
  readonly session: EpisodeSession;
  readonly model: RecordedModel;
  readonly notes: EpisodeNotes;
  /** The sandbox's own end is told through it. */
  readonly found: AbortController;
  readonly seqBase: number;
}

/** How the play went: what is known of it, however it ended. */
interface Played {
  readonly end: EpisodeEnding;
  /** Null where it is not there any more. */
  readonly sandbox: Sandbox | null;
  readonly begun: Pick<BeginRecord, 'startedAt' | 'warnings'>;
  readonly seq: number;
}

async function play(world: World, grading: Grading, index: number, run: Run): Promise<EpisodeRecord> {
  const step = stepAt(grading, index);
  const previous = index === 0 ? null : await readPhase(world, phases.episode(grading, index - 1));
  const stage = await setStage(world, { grading, index, run, seqBase: previous?.terminalSeq ?? 0 });
  const { cast, session, model, notes } = stage;
  const { end, sandbox, begun, seq } = await act(world, stage);
  const summary = await summarise(world, {
    scaffold: cast.scaffold,
    options: cast.options,
    instruction: step.instruction,
    sessionId: sessionIdOf(grading, step.name),
    notes,
    clock: session.clock,
    model,
    startedAt: begun.startedAt,
    oomKillsBefore: previous?.summary.oomKills ?? 0,
    sandbox,
  });
  return {
    format: 'passband.phase.episode',
    version: 1,
    ending: end.ending,
    detail: end.detail,
    summary,
    terminalSeq: seq,
    warnings: begun.warnings,
  };
}

async function setStage(
  world: World,
  { grading, index, run, seqBase }: Pick<Stage, 'grading' | 'index' | 'run' | 'seqBase'>,
): Promise<Stage> {
  const { actor, plan } = grading;
  const step = stepAt(grading, index);
  const found = new AbortController();
  const session: EpisodeSession = new EpisodeSession({
    records: await TurnRecords.open(world.store, grading.prefix, index),
    clock: new AgentClock({
      limitMs: step.agentSec.value * 1_000,
      kind: plan.clock,
      tokensPerSecond: actor.kind === 'model' ? actor.model.nominalTokensPerSecond : null,
    }),
    signal: AbortSignal.any([run.signal, found.signal]),
    attempt: run.attempt,
    now: world.now,
    beat: () => run.heartbeat({ step: index, calls: model.replies.length }),
  });
  const model: RecordedModel = new RecordedModel(session, {
    name: actor.kind === 'model' ? actor.model.name : 'none',
    sessionId: sessionIdOf(grading, step.name),
    attempt: grading.identity.attempt,
    maxTokens: actor.kind === 'model' ? (actor.model.sampling.maxTokens ?? null) : null,
    ...(actor.kind === 'model' && actor.model.tokensIn && { tokensIn: actor.model.tokensIn }),
    client: async () => {
      if (actor.kind === 'gate') throw new Error(`the scaffold ${actor.agent} asks no model`);
      return world.models.for(actor.model, await readSettings(world, plan.sweep));
    },
  });
  const notes: EpisodeNotes = { steps: [], messages: [] };
  return { grading, index, run, cast: castOf(grading), session, model, notes, found, seqBase };
}

/** From the sandbox to an ending. Whatever is no ending is thrown. */
async function act(world: World, stage: Stage): Promise<Played> {
  const { grading, index, run, cast, seqBase } = stage;
  let sandbox: Sandbox | null = null;
  let begun: Played['begun'] = { startedAt: world.now().toISOString(), warnings: [] };
  let terminal: RecordedTerminal | null = null;
  const played = (end: EpisodeEnding, left: Sandbox | null): Played => ({
    end,
    sandbox: left,
    begun,
    seq: terminal?.seq ?? seqBase,
  });
  try {
    sandbox = await openAgentSandbox(world, grading);
    const { needsSolution } = cast.scaffold;
    begun = await beginStep(world, sandbox, { grading, step: index, needsSolution, run });
    terminal = terminalOf(stage, sandbox);
    const { found } = stage;
    const stopWatch = watchSandbox(sandbox, { found, world });
    try {
      return played(await perform(world, stage, terminal), sandbox);
    } finally {
      await stopWatch();
    }
  } catch (error) {
    const end = run.signal.aborted ? null : endingOf(error);
    if (end === null) throw error;
    return played(end, error instanceof TimeUp ? sandbox : null);
  }
}

/** For a scaffold that names none. */
const usualTerminal: TerminalSettings = { columns: 160, rows: 40, limitBytes: 10_000 };

function terminalOf({ grading, index, cast, session, seqBase }: Stage, sandbox: Sandbox): RecordedTerminal {
  const { agentUser } = stepAt(grading, index);
  const settings = cast.scaffold.terminal?.(cast.options) ?? usualTerminal;
  return new RecordedTerminal(session, {
    sandbox,
    terminal: { ...settings, user: agentUser, cwd: grading.task.task.workdir, env: {}, byAgent: index > 0 },
    user: agentUser,
    seqBase,
    commandPrefix: `run-${index}`,
  });
}

/** Runs the scaffold to its own end, or to the one that its ports met. */
async function perform(
  world: World,
  { grading, index, cast, session, model, notes }: Stage,
  terminal: RecordedTerminal,
): Promise<EpisodeEnding> {
  const { scaffold, options } = cast;
  const solutionEnv = scaffold.needsSolution ? envOf(world, grading.task.task.solutionEnv) : {};
  const end: EpisodeEnd = await scaffold.episode(
    { instruction: stepAt(grading, index).instruction, solutionEnv, options },
    {
      terminal,
      model,
      log: (step) => notes.steps.push(step),
      keepMessages: (messages) => {
        notes.messages = [...messages];
      },
    },
  );
  session.throwIfEnded();
  // Its last commands may have used up the time: then it did not finish within it.
  if (session.clock.expired) throw new TimeUp();
  return end;
}
