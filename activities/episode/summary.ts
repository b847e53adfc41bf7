// The end of an episode: trajectory, messages and recording into the store, and the numbers that a verdict repeats.
import type { EpisodeSummary } from '../../domain/episode.ts';
import type { ChatMessage, Scaffold, TrajectoryStep } from '../../domain/ports.ts';
import type { Ref } from '../../domain/refs.ts';
import { wireTool } from '../../domain/tools.ts';
import { recordingPath, SandboxGone, type Sandbox } from '../../sandbox/port.ts';
import { readArchive } from '../archives.ts';
import type { World } from '../world.ts';
import type { AgentClock } from './clock.ts';
import type { RecordedModel } from './recorded-model.ts';
import { tokenIdsOf } from './token-ids.ts';
import { trajectoriesOf } from './trajectories.ts';

/** The recorder inside stops at this size as well. */
const recordingLimitBytes = 64 * 1024 ** 2;
/** An archive's own blocks around one file. */
const archiveMarginBytes = 64 * 1024;

export interface EpisodeNotes {
  readonly steps: TrajectoryStep[];
  messages: readonly ChatMessage[];
}

export interface EpisodeFacts {
  readonly scaffold: Scaffold;
  readonly options: Readonly<Record<string, unknown>>;
  readonly instruction: string;
  readonly sessionId: string;
  readonly notes: EpisodeNotes;
  readonly clock: AgentClock;
  readonly model: RecordedModel;
  readonly startedAt: string;
  /** OOM kills of the steps before this one. */
  readonly oomKillsBefore: number;
  /** Null where it is not there any more. */
  readonly sandbox: Sandbox | null;
}

export async function summarise(world: World, facts: EpisodeFacts): Promise<EpisodeSummary> {
  const { replies } = facts.model;
  const json = (value: unknown): Promise<Ref> =>
    world.store.putBlob(Buffer.from(`${JSON.stringify(value)}\n`));
  const [own, ...further] = trajectoriesOf({
    sessionId: facts.sessionId,
    agent: { name: facts.scaffold.name, version: facts.scaffold.version },
    modelName: facts.scaffold.needsModel ? facts.model.name : null,
    options: facts.options,
    instruction: facts.instruction,
    steps: facts.notes.steps,
    replies,
    tools: facts.model.tools,
  });
  const { oomKills, recording } = await lastLook(world, facts);
  const serving = facts.scaffold.needsModel ? await facts.model.serving() : undefined;
  return {
    chargedMs: facts.clock.chargedMs,
    nominalMs: facts.clock.nominalMs,
    wallMs: Math.max(0, world.now().getTime() - Date.parse(facts.startedAt)),
    firstTokenMs: replies[0]?.times.firstTokenMs ?? null,
    turns: replies.length,
    promptTokens: replies.reduce((sum, { usage }) => sum + usage.promptTokens, 0),
    outputTokens: replies.reduce((sum, { usage }) => sum + usage.completionTokens, 0),
    tokensEstimated: replies.some(({ usage }) => usage.estimated),
    tokenIds: tokenIdsOf(replies),
    oomKills: Math.max(0, oomKills - facts.oomKillsBefore),
    ...(serving && { serving }),
    trajectory: await json(own.trajectory),
    ...(further.length > 0 && {
      furtherTrajectories: await Promise.all(
        further.map(async ({ name, trajectory }) => ({ name, ref: await json(trajectory) })),
      ),
    }),
    messages: await json(messagesOf(facts)),
    recording,
  };
}

/** The chat as it ended, with the tools that it was offered; and, where it was replaced, as it stood before each time. */
function messagesOf({ notes, model }: EpisodeFacts): Readonly<Record<string, unknown>> {
  const { steps, messages } = notes;
  const tools = model.tools.map(wireTool);
  const earlier = steps.flatMap(({ compaction }) =>
    compaction === undefined || compaction.outcome === 'none' ? [] : [compaction.before],
  );
  return {
    format: 'passband.messages',
    version: 1,
    ...(tools.length > 0 && { tools }),
    messages,
    ...(earlier.length > 0 && { earlier }),
  };
}

/** What only the sandbox can tell; one that went away meanwhile tells nothing, and the next phase finds that out. */
async function lastLook(
  world: World,
  { sandbox, scaffold, oomKillsBefore }: EpisodeFacts,
): Promise<{ readonly oomKills: number; readonly recording: Ref | null }> {
  if (sandbox === null) return { oomKills: oomKillsBefore, recording: null };
  try {
    const { oomKills } = await sandbox.usage();
    const recording = scaffold.needsModel ? await takeRecording(world, sandbox) : null;
    return { oomKills: oomKills ?? 0, recording };
  } catch (error) {
    if (!(error instanceof SandboxGone)) throw error;
    world.log.warn(
      { sandbox: sandbox.identity.name, reason: error.message },
      'no recording: the sandbox is gone',
    );
    return { oomKills: oomKillsBefore, recording: null };
  }
}

async function takeRecording(world: World, sandbox: Sandbox): Promise<Ref | null> {
  let recording: Buffer | undefined;
  await sandbox.getFiles(
    { paths: [recordingPath], maxBytes: recordingLimitBytes + archiveMarginBytes },
    async (tar) => {
      recording = (await readArchive(tar, recordingLimitBytes)).get(recordingPath);
    },
  );
  return recording === undefined ? null : world.store.putBlob(recording);
}
