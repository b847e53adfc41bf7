// The end of a generation: its verdict, written once from the phases' records, or its failure record.
import { ClassifiedError } from '../domain/errors.ts';
import { failureKeyOf, interruptionKey, verdictKey } from '../domain/layout.ts';
import type { EpisodeSummary } from '../domain/episode.ts';
import type { FailureClass } from '../domain/failures.ts';
import type { NetworkProof } from '../domain/network.ts';
import { InterruptionSchema } from '../domain/sweep.ts';
import type { Limits } from '../domain/task.ts';
import {
  FailureRecordSchema,
  VerdictSchema,
  type SandboxRecord,
  type StepVerdict,
  type Verdict,
} from '../domain/verdict.ts';
import { foldSteps } from '../domain/verify-steps.ts';
import { putJsonOnce, readJson } from '../store/objects.ts';
import { readGround } from './ground.ts';
import { needPhase, phases, readPhase } from './phase-records.ts';
import { resolveSubject, type Grading } from './subject.ts';
import { outcomeOf } from './trial-state.ts';
import type { PhaseInput, RecordedFailure, TrialOutcome } from './types.ts';
import type { World } from './world.ts';

/** Writes the verdict; the one that stands already wins, and there is never a second. */
export async function recordVerdict(
  world: World,
  { subject, reached }: PhaseInput & { readonly reached: number },
): Promise<TrialOutcome> {
  const grading = await resolveSubject(world, subject);
  const { actor } = grading;
  if (actor.kind !== 'model') throw new ClassifiedError('Unexpected', 'a side of the gate has no verdict');
  const key = verdictKey(actor.trial);
  const before = await readJson(world.store, key, VerdictSchema);
  if (before !== null) return outcomeOf(before);
  const verdict = await verdictOf(world, grading, reached);
  const { written } = await putJsonOnce(world.store, key, VerdictSchema, verdict);
  if (written) return outcomeOf(verdict);
  const stands = await readJson(world.store, key, VerdictSchema);
  if (stands === null) throw new ClassifiedError('StoreUnavailable', `${key} is there and cannot be read`);
  return outcomeOf(stands);
}

async function verdictOf(world: World, grading: Grading, reached: number): Promise<Verdict> {
  const { plan, task, identity } = grading;
  const ground = await readGround(world, grading);
  const { startedAt } = await needPhase(world, phases.provision(grading));
  const { steps, sandboxes } = await stepVerdicts(world, grading, reached);
  const begun = steps.filter((step) => step.reached);
  const last = begun.at(-1);
  const ending = last?.ending;
  if (last === undefined || ending === undefined || ending === null) {
    throw new ClassifiedError('Unexpected', `no step of ${grading.name} was reached`);
  }
  const endedAt = world.now().toISOString();
  return VerdictSchema.parse({
    format: 'passband.verdict',
    version: 1,
    trial: identity,
    generation: grading.generation,
    ending,
    endingDetail: last.endingDetail,
    ...foldSteps(steps, task.task.rewardStrategy),
    steps,
    limits: limitsOf(grading),
    ...totalsOf(begun.flatMap(({ episode }) => (episode === null ? [] : [episode]))),
    wallSeconds: Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) / 1_000,
    environmentMode: ground.environmentMode,
    networkMode: plan.network,
    networkWithheld: task.task.networkDeclared && plan.network === 'deny',
    oracleVerified: ground.oracleVerified,
    driver: world.driver.name,
    sandboxes,
    startedAt,
    endedAt,
  } satisfies Verdict);
}

/** A task of one step has that step's limits; one of several has its own, and each step says more in the task. */
function limitsOf({ task: { task } }: Grading): Limits {
  const [only, ...others] = task.steps;
  if (only === undefined || others.length > 0) return task.limits;
  return { ...task.limits, agentSec: only.agentSec, verifierSec: only.verifierSec };
}

async function stepVerdicts(
  world: World,
  grading: Grading,
  reached: number,
): Promise<{ readonly steps: StepVerdict[]; readonly sandboxes: SandboxRecord[] }> {
  const sandboxes = await agentSandboxes(world, grading);
  const steps: StepVerdict[] = [];
  for (const [index, { name }] of grading.task.task.steps.entries()) {
    if (index >= reached) {
      steps.push({
        name,
        reached: false,
        ending: null,
        endingDetail: null,
        episode: null,
        delta: null,
        verification: null,
      });
      continue;
    }
    const episode = await needPhase(world, phases.episode(grading, index));
    const delta = await needPhase(world, phases.delta(grading, index));
    const verify = await needPhase(world, phases.verify(grading, index));
    sandboxes.push(...verify.sandboxes);
    const warnings = [...episode.warnings, ...verify.verification.warnings];
    steps.push({
      name,
      reached: true,
      ending: delta.ending ?? episode.ending,
      endingDetail: delta.ending === null ? episode.detail : 'the delta is over its limit',
      episode: episode.summary,
      delta: delta.delta,
      verification: { ...verify.verification, warnings },
    });
  }
  return { steps, sandboxes };
}

async function agentSandboxes(world: World, grading: Grading): Promise<SandboxRecord[]> {
  const provisioned = await readPhase(world, phases.provision(grading));
  const barrier = await readPhase(world, phases.barrier(grading));
  if (provisioned === null || barrier === null) return [];
  const { uid, host, imageDigest } = provisioned.sandbox;
  const step = grading.task.task.steps[0]?.name ?? '';
  const networkAtEnd = await networkAtEndOf(world, grading);
  const { network, memoryEnds } = barrier;
  return [{ phase: 'agent', step, uid, host, imageDigest, network, networkAtEnd, memoryEnds }];
}

/** At the end of the last step that came to its delta. */
async function networkAtEndOf(world: World, grading: Grading): Promise<NetworkProof | null> {
  for (let index = grading.task.task.steps.length - 1; index >= 0; index -= 1) {
    const delta = await readPhase(world, phases.delta(grading, index));
    if (delta !== null) return delta.network;
  }
  return null;
}

type Totals = Pick<
  Verdict,
  | 'agentSeconds'
  | 'nominalSeconds'
  | 'firstTokenMs'
  | 'turns'
  | 'promptTokens'
  | 'outputTokens'
  | 'tokensEstimated'
>;

function totalsOf(episodes: readonly EpisodeSummary[]): Totals {
  const sum = (value: (episode: EpisodeSummary) => number): number =>
    episodes.reduce((total, episode) => total + value(episode), 0);
  const nominal = episodes.every(({ nominalMs }) => nominalMs !== null);
  return {
    agentSeconds: sum(({ chargedMs }) => chargedMs) / 1_000,
    nominalSeconds: nominal ? sum(({ nominalMs }) => nominalMs ?? 0) / 1_000 : null,
    firstTokenMs: episodes.find(({ firstTokenMs }) => firstTokenMs !== null)?.firstTokenMs ?? null,
    turns: sum(({ turns }) => turns),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    tokensEstimated: episodes.some(({ tokensEstimated }) => tokensEstimated),
  };
}

export interface FailedGeneration extends PhaseInput {
  readonly failureClass: FailureClass;
  readonly phase: string;
  readonly message: string;
}

/** Writes a generation's failure record, once; the evidence is what its phases have stored. */
export async function recordFailure(world: World, failed: FailedGeneration): Promise<RecordedFailure> {
  const grading = await resolveSubject(world, failed.subject);
  const { generation, identity, owner } = grading;
  const provisioned = await readPhase(world, phases.provision(grading));
  const endedAt = world.now().toISOString();
  await putJsonOnce(world.store, failureKeyOf(owner, generation), FailureRecordSchema, {
    format: 'passband.failure',
    version: 1,
    trial: identity,
    generation,
    failureClass: failed.failureClass,
    phase: failed.phase,
    message: failed.message,
    sandboxes: await agentSandboxes(world, grading),
    startedAt: provisioned?.startedAt ?? endedAt,
    endedAt,
  });
  const interrupted =
    failed.failureClass === 'SandboxLost' &&
    provisioned !== null &&
    (await wasInterrupted(world, grading.plan.sweep, provisioned.startedAt));
  return { interrupted };
}

/** Whether a command of ours removed the sweep's sandboxes after one of them had begun. */
async function wasInterrupted(world: World, sweep: string, startedAt: string): Promise<boolean> {
  const last = await readJson(world.store, interruptionKey(sweep), InterruptionSchema);
  return last !== null && Date.parse(startedAt) <= Date.parse(last.at);
}
