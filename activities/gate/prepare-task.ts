// Before a task's gate: what this driver cannot run is refused, images are made, the pristine image is surveyed.
import { ClassifiedError } from '../../domain/errors.ts';
import type { PristineFacts } from '../../domain/delta.ts';
import type { Ref } from '../../domain/refs.ts';
import type { Plan, PlannedTask } from '../../domain/sweep.ts';
import { putJson } from '../../store/objects.ts';
import { PreparedSchema, preparedKey, type Prepared } from '../ground.ts';
import { servicesOf } from '../services.ts';
import { workdirOf } from '../step-begin.ts';
import { gateGrading, taskAt } from '../subject.ts';
import type { GateReady, GateSummary } from '../types.ts';
import { inFreshSandbox } from '../verify/fresh-sandbox.ts';
import { readPlanOf, type Run, type World } from '../world.ts';
import { readSharedGate, readSweepGate, recordOf, refuse, settle, summaryOf } from './gate-records.ts';
import { ensureImages, type TaskImages } from './images.ts';
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
  const gated = { plan, task };
  const stands = await readSweepGate(world, gated);
  if (stands !== null) return summaryOf(stands);
  const lacking = world.driver.unsupported(task.task, plan.network);
  if (lacking.length > 0) {
    const message = `the ${world.driver.name} driver cannot run ${lacking.join(', ')}`;
    return refuse(world, gated, { reason: 'unsupported', message });
  }
  const audited = task.task.steps.every(({ solutionDir }) => solutionDir !== null);
  if (!audited && !plan.unaudited) {
    const message =
      'no solution: nothing shows that the task can be solved; --unaudited runs it all the same';
    return settle(world, gated, recordOf(world, task, { outcome: 'rejected', reason: 'no-oracle', message }));
  }
  let images: TaskImages;
  try {
    images = await ensureImages(world, plan, task, run.signal);
  } catch (error) {
    if (!(error instanceof ClassifiedError) || error.failureClass !== 'ImageMissing') throw error;
    return refuse(world, gated, { reason: 'build-fails', message: error.message });
  }
  const clash = await clashOf(world, task, images, run.signal);
  if (clash !== null) return refuse(world, gated, { reason: 'unsupported', message: clash });
  const shared = audited ? await readSharedGate(world, task, images) : null;
  if (shared !== null) return settle(world, gated, shared);
  const prepared: Prepared = {
    format: 'passband.prepared',
    version: 1,
    ...images,
    pristine: await survey(world, { plan, index: input.task, images, run }),
  };
  if (audited) {
    await putJson(world.store, preparedKey(task.gateKey, plan.sweep), PreparedSchema, prepared);
    return { outcome: 'ready', environmentMode: task.task.environmentMode ?? 'separate' };
  }
  const unaudited = recordOf(world, task, {
    outcome: 'unaudited',
    reason: 'no-oracle',
    message: 'no solution: it runs unaudited',
    ...images,
    pristine: prepared.pristine,
  });
  return settle(world, gated, unaudited);
}

/** What only the images of services say: that they cannot run beside each other. */
async function clashOf(
  { driver }: World,
  { task }: PlannedTask,
  { serviceImages }: TaskImages,
  signal: AbortSignal,
): Promise<string | null> {
  const services = servicesOf(task, serviceImages);
  return services === undefined ? null : driver.clash(services, signal);
}

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
  const use = { grading, phase: 'survey', image, env: {}, ownWorkdir, outsideGenerations: true, run };
  return inFreshSandbox(world, use, (sandbox) =>
    surveyImage(sandbox, workdirOf(grading, sandbox), run.signal),
  );
}
