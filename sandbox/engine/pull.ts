// Pulling images, and what a pull that failed means: try again, or an image that a person must bring.
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { ClassifiedError } from '../../domain/errors.ts';
import { bringBase } from '../images/base-request.ts';
import { saysEngineFailed, saysRegistryBusy } from '../images/failure-words.ts';
import type { Engine } from './engine.ts';
import { engineCall, engineError, isAnswer, messageOf } from './engine-errors.ts';

const Progress = z.object({
  stream: z.string().optional(),
  status: z.string().optional(),
  error: z.string().optional(),
  errorDetail: z.object({ message: z.string().optional() }).optional(),
});

/** What was asked for failed, and the engine lived to say so at the end of its log. */
export class LoggedFailure extends Error {}

/**
 * Reads the engine's log of a pull, build or import to its end, and gives its last status (an import's is the
 * image's id). Throws LoggedFailure with the engine's words, another Error where the log breaks off.
 */
export async function followLog(
  answer: NodeJS.ReadableStream,
  onText: (text: string) => void,
): Promise<string> {
  let failure: string | null = null;
  let last = '';
  for await (const line of createInterface({ input: answer, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      onText(line);
      continue;
    }
    const parsed = Progress.safeParse(value);
    if (!parsed.success) continue;
    const { stream, status, error, errorDetail } = parsed.data;
    if (stream !== undefined) onText(stream);
    if (status !== undefined) last = status;
    if (error !== undefined) failure = errorDetail?.message ?? error;
  }
  if (failure !== null) throw new LoggedFailure(failure);
  return last;
}

export function pullFailure(name: string, message: string, cause: unknown): ClassifiedError {
  if (saysEngineFailed(message)) {
    const told = `container engine, pulling ${name}: ${message}`;
    return new ClassifiedError('PlatformUnavailable', told, { cause });
  }
  const failureClass = saysRegistryBusy(message) ? 'ImagePullTransient' : 'ImageMissing';
  const text = `image ${name} is not here and could not be pulled: ${message}; ${bringBase(name)}`;
  return new ClassifiedError(failureClass, text, { cause });
}

/** Pulls an image. ClassifiedError `ImageMissing`, `ImagePullTransient`, or `PlatformUnavailable`. */
export async function pullImage(engine: Engine, reference: string, signal?: AbortSignal): Promise<void> {
  try {
    const answer: NodeJS.ReadableStream = await engine.docker.createImage({
      fromImage: withTag(reference),
      ...(signal === undefined ? {} : { abortSignal: signal }),
    });
    await followLog(answer, () => undefined);
  } catch (error) {
    signal?.throwIfAborted();
    // An engine that does not answer is not a registry that does not.
    await engineCall('a sign of life', () => engine.docker.ping());
    if (!(error instanceof LoggedFailure || isAnswer(error)))
      throw engineError(`pulling ${reference}`, error);
    throw pullFailure(reference, messageOf(error), error);
  }
}

/** A name without a tag means all of them to the API. */
function withTag(reference: string): string {
  const last = reference.slice(reference.lastIndexOf('/') + 1);
  return last.includes(':') || last.includes('@') ? reference : `${reference}:latest`;
}
