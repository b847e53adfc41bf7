// Before a task's gate: what this driver cannot run is refused, images are made, the pristine image is surveyed.
import { ClassifiedError } from '../../domain/errors.ts';
import type { PristineFacts } from '../../domain/delta.ts';
import { GateRecordSchema, type GateRecord } from '../../domain/gate.ts';
import { gateKeyOf } from '../../domain/layout.ts';
import type { Ref } from '../../domain/refs.ts';
import type { Plan, PlannedTask } from '../../domain/sweep.ts';
import { putJson } from '../../store/objects.ts';
import { PreparedSchema, preparedKey, readGateRecord, type Prepared } from '../ground.ts';
import { workdirOf } from '../step-begin.ts';
import { gateGrading, taskAt } from '../subject.ts';
import type { GateReady, GateSummary } from '../types.ts';
import { inFreshSandbox } from '../verify/fresh-sandbox.ts';
import { readPlanOf, type Run, type World } from '../world.ts';
import { ensureImages, type TaskImages } from './images.ts';
import { isOverruled } from './read-gate.ts';
import { surveyImage } from './survey.ts';

export interface TaskInput {
  readonly sweep: string;
  readonly plan: Ref;
  readonly task: number;
}

export async function prepareTask(
  world: World,
  input: TaskInput,
  run: Run,
): Promise<GateSummary | GateReady> {
  const plan = await readPlanOf(world, input.plan);
  const task = taskAt(plan, input.task);
  const lacking = world.driver.unsupported(task.task, plan.network);
  if (lacking.length > 0) {
    const message = `the ${world.driver.name} driver cannot run ${lacking.join(', ')}`;
    return conclude(world, task, { outcome: 'rejected', reason: 'unsupported', message });
  }
  const audited = task.task.steps.every(({ solutionDir }) => solutionDir !== null);
  if (!audited && !plan.unaudited) {
    const message =
      'no solution: nothing shows that the task can be solved; --unaudited runs it all the same';
    return conclude(world, task, { outcome: 'rejected', reason: 'no-oracle', message });
  }
  let images: TaskImages;
  try {
    images = await ensureImages(world, plan, task, run.signal);
  } catch (error) {
    if (!(error instanceof ClassifiedError) || error.failureClass !== 'ImageMissing') throw error;
    return conclude(world, task, { outcome: 'rejected', reason: 'build-fails', message: error.message });
  }
  const cached = await readGateRecord(world, task.gateKey);
  if (cached !== null && standsFor(cached, plan, images)) {
    return { outcome: cached.outcome, reason: cached.reason };
  }
  const prepared: Prepared = {
    format: 'passband.prepared',
    version: 1,
    ...images,
    pristine: await survey(world, { plan, index: input.task, images, run }),
  };
  if (!audited) {
    return conclude(world, task, {
      outcome: 'unaudited',
      reason: 'no-oracle',
      message: 'no solution: it runs unaudited',
      ...images,
      pristine: prepared.pristine,
    });
  }
  await putJson(world.store, preparedKey(task.gateKey, plan.sweep), PreparedSchema, prepared);
  return { outcome: 'ready', environmentMode: task.task.environmentMode ?? 'separate' };
}

/** A gate says something of the images that it ran on, and of no others. */
const standsFor = (record: GateRecord, plan: Plan, { image, verifierImage }: TaskImages): boolean =>
  record.outcome !== 'rejected' &&
  !isOverruled(record, plan) &&
  record.image?.digest === image.digest &&
  record.verifierImage?.digest === verifierImage?.digest;

interface Surveying {
  readonly plan: Plan;
  readonly index: number;
  readonly images: TaskImages;
  readonly run: Run;
}

/** Of the image that verifies: what acts on a verifier is what is found in it. */
function survey(world: World, { plan, index, images, run }: Surveying): Promise<PristineFacts> {
  const grading = gateGrading(plan, {
    task: index,
    agent: 'nop',
    environmentMode: 'separate',
    generation: 0,
  });
  const image = images.verifierImage ?? images.image;
  const ownWorkdir = images.verifierImage !== null;
  return inFreshSandbox(world, { grading, phase: 'survey', image, env: {}, ownWorkdir, run }, (sandbox) =>
    surveyImage(sandbox, workdirOf(grading, sandbox), run.signal),
  );
}

export type Conclusion = Pick<GateRecord, 'outcome' | 'reason' | 'message'> &
  Partial<
    Pick<GateRecord, 'environmentMode' | 'oracleVerified' | 'image' | 'verifierImage' | 'pristine' | 'steps'>
  >;

/** Writes a task's gate record, in place of the one that is there. */
export async function conclude(
  world: World,
  task: PlannedTask,
  conclusion: Conclusion,
): Promise<GateSummary> {
  const record: GateRecord = {
    format: 'passband.gate',
    version: 1,
    key: task.gateKey,
    task: task.id,
    environmentMode: task.task.environmentMode ?? 'separate',
    oracleVerified: false,
    image: null,
    verifierImage: null,
    pristine: null,
    steps: [],
    at: world.now().toISOString(),
    ...conclusion,
  };
  await putJson(world.store, gateKeyOf(task.gateKey), GateRecordSchema, record);
  return { outcome: record.outcome, reason: record.reason };
}
