// What is known before a generation begins: the plan's shape, a trial's limits and verdict, and which are done.
import pMap from 'p-map';
import { z } from 'zod';
import { ObjectError } from '../domain/errors.ts';
import { endings, results, type Ending, type Result } from '../domain/failures.ts';
import { failuresPrefixOf, trialsPrefix, verdictKey } from '../domain/layout.ts';
import { shapeOf, trialInPlan } from '../domain/sweep.ts';
import { VerdictSchema, type Verdict } from '../domain/verdict.ts';
import { readJson } from '../store/objects.ts';
import { resolveSubject, type Grading } from './subject.ts';
import type { DoneTrials, PhaseInput, SweepShape, TrialOutcome, TrialState, TrialTimes } from './types.ts';
import type { Ref } from '../domain/refs.ts';
import { readPlanOf, readSettings, type World } from './world.ts';

/** Verdicts read at once. */
const readersAtOnce = 16;

export async function readPlan(
  world: World,
  { sweep, plan }: { readonly sweep: string; readonly plan: Ref },
): Promise<SweepShape> {
  const [planned, settings] = await Promise.all([readPlanOf(world, plan), readSettings(world, sweep)]);
  return { shape: shapeOf(planned), concurrency: settings.concurrency };
}

export async function readTrial(world: World, { subject }: PhaseInput): Promise<TrialState> {
  const grading = await resolveSubject(world, subject);
  const { actor } = grading;
  const verdict =
    actor.kind === 'model' ? await readJson(world.store, verdictKey(actor.trial), VerdictSchema) : null;
  return {
    times: timesOf(grading),
    done: verdict === null ? null : outcomeOf(verdict),
    generation: (await lastGeneration(world, grading)) + 1,
  };
}

export const outcomeOf = (verdict: Verdict): TrialOutcome => ({
  counts: true,
  ending: verdict.ending,
  result: verdict.result,
  failure: null,
  generations: verdict.generation,
});

const timesOf = ({ task: { task } }: Grading): TrialTimes => ({
  steps: task.steps.map(({ name, agentSec, verifierSec }) => ({
    name,
    agentMs: agentSec.value * 1_000,
    verifierMs: verifierSec.value * 1_000,
  })),
  setupMs: task.limits.setupSec.value * 1_000,
});

/** The last generation that left anything: its folder, or its failure record. 0 where there is none. */
async function lastGeneration(world: World, grading: Grading): Promise<number> {
  let last = 0;
  const seen = (match: RegExpExecArray | null): void => {
    last = Math.max(last, Number(match?.[1] ?? 0));
  };
  for await (const folder of world.store.listFolders(grading.owner)) seen(/\/g(\d+)\/$/.exec(folder));
  for await (const { key } of world.store.list(failuresPrefixOf(grading.owner)))
    seen(/\/(\d+)\.json$/.exec(key));
  return last;
}

/** Of a verdict, only what is counted: a stretch of thousands is read. */
const DoneSchema = z.object({
  format: z.literal('passband.verdict'),
  version: z.literal(1),
  ending: z.enum(endings),
  result: z.enum(results),
});

export async function readDone(
  world: World,
  input: { readonly sweep: string; readonly plan: Ref; readonly first: number; readonly count: number },
): Promise<DoneTrials> {
  const plan = await readPlanOf(world, input.plan);
  const positions = Array.from({ length: input.count }, (_, at) => input.first + at);
  const nothing: DoneTrials = { runs: [], endings: {}, results: {} };
  // A sweep that begins has no trials: one question in place of one for each.
  if (!(await hasAny(world, trialsPrefix(input.sweep)))) return nothing;
  const read = await pMap(
    positions,
    async (position) => readDoneAt(world, verdictKey(trialInPlan(plan, position).path)),
    { concurrency: readersAtOnce },
  );
  const runs: [number, number][] = [];
  const endingCounts: Partial<Record<Ending, number>> = {};
  const resultCounts: Partial<Record<Result, number>> = {};
  for (const [at, done] of read.entries()) {
    if (done === null) continue;
    const position = input.first + at;
    const open = runs.at(-1);
    if (open !== undefined && open[0] + open[1] === position) open[1] += 1;
    else runs.push([position, 1]);
    endingCounts[done.ending] = (endingCounts[done.ending] ?? 0) + 1;
    resultCounts[done.result] = (resultCounts[done.result] ?? 0) + 1;
  }
  return { runs, endings: endingCounts, results: resultCounts };
}

/** A verdict that cannot be read is left to its trial to fail by: it must not stop the others. */
async function readDoneAt(world: World, key: string): Promise<z.infer<typeof DoneSchema> | null> {
  try {
    return await readJson(world.store, key, DoneSchema);
  } catch (error) {
    if (!(error instanceof ObjectError)) throw error;
    world.log.warn({ key, error: error.message }, 'a verdict cannot be read');
    return null;
  }
}

async function hasAny(world: World, prefix: string): Promise<boolean> {
  for await (const folder of world.store.listFolders(prefix)) return folder !== '';
  return false;
}
