// What an image of a task is made from, as a builder takes it: a folder of the task's package, or a reference.
import type { Readable } from 'node:stream';
import type { ImageOrigin } from '../../domain/services.ts';
import type { Task } from '../../domain/task.ts';
import type { ImageSource } from '../port.ts';

type BuiltOrigin = Extract<ImageOrigin, { kind: 'build' }>;

/** A task's package, as far as an image is made from it. */
export interface ContextPackage {
  context(origin: BuiltOrigin): { readonly digest: string; tar(): Readable };
}

export interface SourceOptions {
  /** Opened where an image is built. */
  readonly open: () => Promise<ContextPackage>;
  /** RUN has no network. */
  readonly offline: boolean;
}

/** The source of one image of `task`. */
export async function imageSource(
  task: Pick<Task, 'buildTimeoutSec'>,
  origin: ImageOrigin,
  { open, offline }: SourceOptions,
): Promise<ImageSource> {
  if (origin.kind === 'prebuilt') return origin;
  const { dockerfile, target, args } = origin;
  const context = (await open()).context(origin);
  return {
    kind: 'build',
    digest: context.digest,
    context: () => Promise.resolve(context.tar()),
    dockerfile,
    ...(target === undefined ? {} : { target }),
    ...(args === undefined ? {} : { args }),
    offline,
    timeoutMs: task.buildTimeoutSec.value * 1_000,
  };
}
