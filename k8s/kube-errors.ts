// What a refusal of the API server means: not there, there already, no quota left, not for us, wrong, or not now.
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import { readRetryAfterMs } from '../domain/retry-after.ts';

/** The API server says that what was named is not there (404). */
export class NotThere extends Error {}

/** The API server says that it is there already, or was changed meanwhile (409). */
export class InTheWay extends Error {}

/** The namespace's quota holds no more just now (403 of the quota's admission). */
export class QuotaExceeded extends Error {}

const Status = z.object({
  message: z.string().optional(),
  reason: z.string().optional(),
  details: z.object({ retryAfterSeconds: z.number().optional() }).nullish(),
});

/** Bytes of the server's words that are repeated. */
const wordsLimit = 1_000;

const quota = /exceeded quota/i;
/** A namespace that was only just made has no service account yet. */
const notYet = /error looking up service account|serviceaccount "[^"]*" not found|no API token found/i;
/** What an admission refuses of our own configuration. */
const ofConfig =
  /violates PodSecurity|PriorityClass|RuntimeClass|nodeSelector|tolerations|imagePullSecrets|namespaces? "[^"]*" not found|is being terminated/i;
/** An API server that has only just started knows no roles yet. */
const starting = /RBAC: .*not found/i;
/** A LimitRange's words, and a value that no pod can have. */
const ofTask = /(maximum|minimum) [\w.-]+ usage per|max limit to request ratio/i;

interface Answer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * The error of an answer that is no success. Its message holds the server's own words and nothing else of the answer:
 * headers hold what is not for a log.
 */
export function refusalOf(what: string, answer: Answer): Error {
  const { statusCode } = answer;
  const status = statusOf(answer.text);
  const words = (status.message ?? `HTTP ${statusCode}`).replaceAll(/\s+/g, ' ').slice(0, wordsLimit);
  const told = `cluster, ${what}: ${words}`;
  if (statusCode === 404) return new NotThere(words);
  if (statusCode === 409) return new InTheWay(words);
  if (statusCode === 401) return new ClassifiedError('Forbidden', told);
  if (statusCode === 403) {
    if (quota.test(words)) return new QuotaExceeded(words);
    if (notYet.test(words) || starting.test(words)) return new ClassifiedError('PlatformUnavailable', told);
    if (ofTask.test(words)) return new ClassifiedError('TaskInvalid', told);
    return new ClassifiedError(ofConfig.test(words) ? 'ConfigInvalid' : 'Forbidden', told);
  }
  if ([400, 413, 422].includes(statusCode)) {
    return new ClassifiedError(ofConfig.test(words) ? 'ConfigInvalid' : 'TaskInvalid', told);
  }
  const retryAfterMs = retryAfterOf(answer.headers, status.details?.retryAfterSeconds);
  return new ClassifiedError('PlatformUnavailable', told, retryAfterMs === null ? {} : { retryAfterMs });
}

/** The error of a connection that broke or never was; `why` null: in the system's words. */
export function connectionError(what: string, why: string | null, cause: unknown): ClassifiedError {
  return new ClassifiedError('PlatformUnavailable', `cluster, ${what}: ${why ?? connectionWords(cause)}`, {
    cause,
  });
}

/** Whether an error of a call is its connection's, and no answer. */
export function isBrokenConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof ClassifiedError || error instanceof NotThere || error instanceof InTheWay)
    return false;
  return !(error instanceof QuotaExceeded);
}

export function statusOf(text: string): z.infer<typeof Status> {
  try {
    const parsed = Status.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
  } catch {
    // A proxy's page, or a kubelet's line: its first words are all there is.
  }
  const line = text.trim();
  return line === '' || line.startsWith('<') ? {} : { message: line };
}

function connectionWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause instanceof Error && error.message === 'fetch failed' ? error.cause : error;
  const first = inner instanceof AggregateError ? (inner.errors[0] as unknown) : inner;
  const message = first instanceof Error ? first.message : inner.message;
  return (message === '' ? inner.name : message).replaceAll(/\s+/g, ' ').slice(0, wordsLimit);
}

/** Milliseconds that the server asks to be left alone for, null where it does not say. */
function retryAfterOf(headers: IncomingHttpHeaders, seconds: number | undefined): number | null {
  const header = (name: string): string | null => {
    const value = headers[name];
    return (Array.isArray(value) ? value[0] : value) ?? null;
  };
  const told = readRetryAfterMs(header, Date.now());
  return told ?? (seconds === undefined ? null : seconds * 1_000);
}
