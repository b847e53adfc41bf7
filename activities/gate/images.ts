// Images of a task, made from its package where they are not there: what its sandboxes, a verifier's own and services start from.
import type { Image, ServiceImages } from '../../domain/gate.ts';
import type { ImageOrigin } from '../../domain/services.ts';
import type { Plan, PlannedTask } from '../../domain/sweep.ts';
import { imageSource } from '../../sandbox/images/task-source.ts';
import type { World } from '../world.ts';

export interface TaskImages {
  readonly image: Image;
  readonly verifierImage: Image | null;
  /** Absent where the task is one container. */
  readonly serviceImages?: ServiceImages | undefined;
}

/** @throws ClassifiedError ImageMissing where one cannot be had or built, ImagePullTransient where it may be later */
export async function ensureImages(
  world: World,
  plan: Plan,
  task: PlannedTask,
  signal: AbortSignal,
): Promise<TaskImages> {
  const { image, verifierImage, services } = task.task;
  const options = { open: () => world.packages.of(task), offline: plan.offlineBuild };
  const ensure = async (origin: ImageOrigin): Promise<Image> =>
    world.driver.images.ensure(await imageSource(task.task, origin, options), signal);
  const images = {
    image: await ensure(image),
    verifierImage: verifierImage === null ? null : await ensure(verifierImage),
  };
  if (services === undefined) return images;
  const serviceImages: ServiceImages = {};
  for (const sidecar of services.sidecars) serviceImages[sidecar.name] = await ensure(sidecar.image);
  return { ...images, serviceImages };
}
