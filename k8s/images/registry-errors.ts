// What a registry's refusal, or its silence, means.
import { ClassifiedError } from '../../domain/errors.ts';
import { readRetryAfterMs } from '../../domain/retry-after.ts';
import type { RegistryPlace } from './registry-place.ts';

/** Bytes of a registry's words that are repeated. */
const wordsLimit = 500;

const refusedTls = /^(?:ERR_TLS|ERR_SSL|EPROTO$|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(?:GET|VERIFY))/;

/** The error of an answer that is neither success nor «not there». */
export function refusalOf(
  what: string,
  place: RegistryPlace,
  answer: Response,
  body: string,
): ClassifiedError {
  const { status } = answer;
  const words = body.replaceAll(/\s+/g, ' ').trim().slice(0, wordsLimit);
  const told = `registry ${place.host}, ${what}: HTTP ${status}${words === '' ? '' : `: ${words}`}`;
  if (status === 401 || status === 403) return new ClassifiedError('Forbidden', told);
  if (status === 429 || status === 408 || status >= 500) {
    const retryAfterMs = readRetryAfterMs((name) => answer.headers.get(name), Date.now());
    return new ClassifiedError('ImagePullTransient', told, retryAfterMs === null ? {} : { retryAfterMs });
  }
  return new ClassifiedError(place.known ? 'ConfigInvalid' : 'ImageMissing', told);
}

/**
 * The error of a request without an answer: nearly always one that comes later. Two are not: a host that does not
 * exist, where a task and not the configuration names it, and TLS that does not hold.
 */
export function silenceOf(what: string, place: RegistryPlace, cause: unknown): ClassifiedError {
  const { code, message } = innermost(cause);
  const told = `registry ${place.host}, ${what}: ${message}`;
  if (refusedTls.test(code)) {
    const mend =
      'registry.insecure is for one that speaks plain HTTP, NODE_EXTRA_CA_CERTS names an authority of your own';
    return new ClassifiedError(place.known ? 'ConfigInvalid' : 'ImageMissing', `${told}; ${mend}`, { cause });
  }
  const nowhere = code === 'ENOTFOUND' && !place.known;
  return new ClassifiedError(nowhere ? 'ImageMissing' : 'ImagePullTransient', told, { cause });
}

/** What fetch wraps: the system's own words. */
function innermost(error: unknown): { readonly code: string; readonly message: string } {
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  if (error.cause instanceof Error) return innermost(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0]);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const message = error.message === '' ? error.name : error.message.replaceAll(/\s+/g, ' ');
  return { code, message: message.slice(0, wordsLimit) };
}
