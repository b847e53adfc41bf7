// The images of a task set, made by a builder: each once, several at a time, a failure of one named and no end of the rest.
import pMap from 'p-map';
import { fullJitterMs, generationBackoff, unitOf } from '../domain/backoff.ts';
import { ClassifiedError } from '../domain/errors.ts';
import { failureTable, type FailureClass } from '../domain/failures.ts';
import type { Image } from '../domain/gate.ts';
import type { ImageOrigin } from '../domain/services.ts';
import type { Task } from '../domain/task.ts';
import { imageSource } from '../sandbox/images/task-source.ts';
import type { ImageBuilder } from '../sandbox/port.ts';
import { openPackage } from '../tasks/open-package.ts';
import { packTask } from '../tasks/package.ts';
import type { SetTask } from '../tasks/task-set.ts';

export interface BuiltImage extends Image {
  readonly task: string;
  /** `environment`, `verifier`, or the name of a sidecar. */
  readonly of: string;
}

export interface FailedImage {
  readonly task: string;
  readonly of: string;
  readonly failureClass: FailureClass;
  readonly message: string;
}

export interface SetOptions {
  readonly offline: boolean;
  readonly atOnce: number;
  readonly say: (line: string) => void;
  readonly wait: (ms: number) => Promise<unknown>;
  readonly signal: AbortSignal;
}

export interface ImageSetReport {
  readonly images: readonly BuiltImage[];
  readonly failed: readonly FailedImage[];
}

/** Tries of one image while a registry or BuildKit has no answer: about ten minutes in all. */
const maxTries = 8;

/** @throws ClassifiedError where the failure is the operator's: no other image would do better. */
export async function makeImages(
  tasks: readonly SetTask[],
  builder: ImageBuilder,
  options: SetOptions,
): Promise<ImageSetReport> {
  const wanted = tasks.flatMap((task) => originsOf(task.task).map((origin) => ({ task, ...origin })));
  const made = await pMap(wanted, (image) => makeImage(image, builder, options), {
    concurrency: options.atOnce,
  });
  return {
    images: made.filter((one) => 'digest' in one),
    failed: made.filter((one) => 'failureClass' in one),
  };
}

function originsOf({ image, verifierImage, services }: Task): readonly { of: string; origin: ImageOrigin }[] {
  return [
    { of: 'environment', origin: image },
    ...(verifierImage === null ? [] : [{ of: 'verifier', origin: verifierImage }]),
    ...(services?.sidecars ?? []).map((sidecar) => ({ of: sidecar.name, origin: sidecar.image })),
  ];
}

interface Wanted {
  readonly task: SetTask;
  readonly of: string;
  readonly origin: ImageOrigin;
}

async function makeImage(
  { task, of, origin }: Wanted,
  builder: ImageBuilder,
  options: SetOptions,
): Promise<BuiltImage | FailedImage> {
  const named = { task: task.task.name, of };
  const open = () => openPackage(() => Promise.resolve(packTask(task)));
  for (let tries = 1; ; tries += 1) {
    options.signal.throwIfAborted();
    try {
      const source = await imageSource(task.task, origin, { open, offline: options.offline });
      return { ...named, ...(await builder.ensure(source, options.signal)) };
    } catch (error) {
      if (!(error instanceof ClassifiedError)) throw error;
      const { owner } = failureTable[error.failureClass];
      if (owner === 'operator') throw error;
      const { failureClass, message, retryAfterMs } = error;
      if (owner !== 'platform' || tries === maxTries) return { ...named, failureClass, message };
      const backoffMs = fullJitterMs(generationBackoff, tries, unitOf(`${named.task} ${of} ${tries}`));
      const waitMs = Math.max(retryAfterMs ?? 0, backoffMs);
      options.say(`${named.task}: ${of}: ${message}; asked again in ${Math.round(waitMs / 1000)} s`);
      await options.wait(waitMs);
    }
  }
}
