// What an engine's refusal means: not there, there already, or an engine that does not do its work.
import { z } from 'zod';
import { ClassifiedError } from '../../domain/errors.ts';
import { aborted } from '../aborted.ts';
import { saysEngineFailed } from '../images/failure-words.ts';

/** The engine says that what was named is not there (HTTP 404). */
export class NotThere extends Error {}

/** The engine says that it is there already, or not in a state for it (HTTP 304 or 409). */
export class InTheWay extends Error {}

const HttpError = z.object({ statusCode: z.number(), message: z.string() });

/** Podman says either with HTTP 500 too, where something changes while it looks. */
const notThere = /no such (container|exec|image)/i;
const inTheWay = /container state improper|is not running|removal .* in progress|already in use/i;

/** Calls take milliseconds; an engine that is silent for this long is stuck. */
const callTimeoutMs = 120_000;

/**
 * Performs one call of the engine's API. Throws NotThere, InTheWay, the signal's reason, or ClassifiedError:
 * `Forbidden` where the engine lets us not (HTTP 401, 403), `PlatformUnavailable` for everything else that goes wrong
 * between us, a request that the engine takes for wrong among it: whose fault that is, its caller knows (`isRefusal`).
 */
export async function engineCall<T>(
  what: string,
  call: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const timeout = AbortSignal.timeout(callTimeoutMs);
  try {
    const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    return await Promise.race([call(either), aborted(either)]);
  } catch (error) {
    signal?.throwIfAborted();
    throw engineError(what, error);
  }
}

export function engineError(what: string, error: unknown): Error {
  if (error instanceof ClassifiedError) return error;
  const http = HttpError.safeParse(error);
  const message = messageOf(error);
  const told = `container engine, ${what}: ${message}`;
  if (http.success) {
    const { statusCode } = http.data;
    if ([401, 403].includes(statusCode)) return new ClassifiedError('Forbidden', told, { cause: error });
    if (statusCode === 404 || notThere.test(message)) return new NotThere(message, { cause: error });
    if ([304, 409].includes(statusCode) || inTheWay.test(message))
      return new InTheWay(message, { cause: error });
  }
  return new ClassifiedError('PlatformUnavailable', told, { cause: error });
}

/** Whether the engine took what it was asked for to be wrong, and not itself to be unable (HTTP 400). */
export function isRefusal(error: unknown): error is ClassifiedError {
  if (!(error instanceof ClassifiedError)) return false;
  const http = HttpError.safeParse(error.cause);
  return http.success && http.data.statusCode === 400 && !saysEngineFailed(http.data.message);
}

/** Whether an error is the engine's answer, and not a connection that broke. */
export const isAnswer = (error: unknown): boolean => HttpError.safeParse(error).success;

/** The engine's own words without dockerode's frame, one line, bounded. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const plain = text.replace(/^\(HTTP code \d+\) [^-]* - /, '').replaceAll(/\s+/g, ' ');
  return plain.trim().slice(0, 2_000) || 'no reason given';
}
