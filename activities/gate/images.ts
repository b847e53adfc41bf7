// Images of a task, made from its package where they are not there: what the agent's sandbox and a verifier's own start from.
import type { Image } from '../../domain/gate.ts';
import type { Plan, PlannedTask } from '../../domain/sweep.ts';
import type { Task } from '../../domain/task.ts';
import type { ImageSource } from '../../sandbox/port.ts';
import type { World } from '../world.ts';

export interface TaskImages {
  readonly image: Image;
  readonly verifierImage: Image | null;
}

/** @throws ClassifiedError ImageMissing where one cannot be had or built, ImagePullTransient where it may be later */
export async function ensureImages(
  world: World,
  plan: Plan,
  task: PlannedTask,
  signal: AbortSignal,
): Promise<TaskImages> {
  const { image, verifierImage } = task.task;
  const ensure = async (from: Task['image']): Promise<Image> =>
    world.driver.images.ensure(await sourceOf(world, plan, { task, image: from }), signal);
  return {
    image: await ensure(image),
    verifierImage: verifierImage === null ? null : await ensure(verifierImage),
  };
}

async function sourceOf(
  world: World,
  { offlineBuild }: Plan,
  { task, image }: { readonly task: PlannedTask; readonly image: Task['image'] },
): Promise<ImageSource> {
  if (image.kind === 'prebuilt') return image;
  const context = (await world.packages.of(task)).context(image);
  return {
    kind: 'build',
    digest: context.digest,
    context: () => Promise.resolve(context.tar()),
    dockerfile: image.dockerfile,
    offline: offlineBuild,
    timeoutMs: task.task.buildTimeoutSec.value * 1_000,
  };
}
