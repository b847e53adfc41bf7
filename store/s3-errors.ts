// What an error of S3 or of the way to it means: passing trouble, refused credentials, or input that a person must mend.
import { ClassifiedError, InputError } from '../domain/errors.ts';

/** What is told of an error; `status` where the store answered. */
interface S3Fault {
  readonly name: string;
  readonly message: string;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
}

const byTheClient = new Set(['TimeoutError', 'CredentialsProviderError']);
const noRegion = 'Region is missing';

/** The fault that an error of the SDK or of Node's sockets tells of; null where it is neither, but a defect of ours. */
function faultOf(error: unknown): S3Fault | null {
  if (!(error instanceof Error)) return null;
  const fields = error as Error & {
    readonly $metadata?: { readonly httpStatusCode?: number };
    readonly $response?: {
      readonly statusCode?: number;
      readonly headers?: Readonly<Record<string, string>>;
    };
    readonly code?: unknown;
  };
  const ofSocket = typeof fields.code === 'string';
  const ofStore = fields.$metadata !== undefined || fields.$response !== undefined;
  if (!ofSocket && !ofStore && !byTheClient.has(error.name) && error.message !== noRegion) return null;
  const seconds = Number(fields.$response?.headers?.['retry-after'] ?? Number.NaN);
  return {
    name: typeof fields.code === 'string' ? fields.code : error.name,
    message: error.message,
    status: fields.$metadata?.httpStatusCode ?? fields.$response?.statusCode ?? null,
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null,
  };
}

/** The object (or the bucket) is not there. */
export const isAbsent = (error: unknown): boolean => {
  const fault = faultOf(error);
  return fault !== null && (fault.name === 'NoSuchKey' || fault.name === 'NotFound');
};

/** `If-None-Match: *` met an object. */
export const isTaken = (error: unknown): boolean => faultOf(error)?.status === 412;

/** `If-None-Match: *` met another write that was going on: ask again. */
export const isConflict = (error: unknown): boolean => faultOf(error)?.status === 409;

const mended = new Set(['InvalidBucketName', 'PermanentRedirect', 'AuthorizationHeaderMalformed']);

/** The error of the house for an error of the SDK; any other one as it came. `where` is the store's URL, with the object's key where there is one. */
export function s3Error(error: unknown, where: string): Error {
  if (error instanceof ClassifiedError || error instanceof InputError) return error;
  const fault = faultOf(error);
  if (fault === null) return error instanceof Error ? error : new Error(String(error));
  const cause = bare(error, fault);
  const said = `${fault.name}${fault.message === '' || fault.message === fault.name ? '' : `: ${fault.message}`}`;
  if (fault.name === 'NoSuchBucket') {
    return new InputError(`${where}: there is no such bucket: create it, or give another --store`);
  }
  if (fault.message === noRegion) {
    return new InputError(`${where}: no region: add ?region=NAME to the URL, or set AWS_REGION`);
  }
  if (fault.name === 'CredentialsProviderError') {
    return new ClassifiedError(
      'Forbidden',
      `${where}: no credentials (${fault.message}): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or give the pod a role`,
      { cause },
    );
  }
  if (fault.status === 401 || fault.status === 403) {
    return new ClassifiedError(
      'Forbidden',
      `${where}: refused (${said}): check the credentials and their rights`,
      {
        cause,
      },
    );
  }
  if (mended.has(fault.name)) {
    return new InputError(`${where}: ${said}: check bucket, region and endpoint of the store's URL`);
  }
  return new ClassifiedError('StoreUnavailable', `${where}: ${said}`, {
    cause,
    ...(fault.retryAfterMs !== null && { retryAfterMs: fault.retryAfterMs }),
  });
}

/** The SDK's errors carry the whole request and response, signature and sockets included: none of that may get into a log. */
function bare(error: unknown, { name, message }: S3Fault): Error {
  const cause = new Error(message);
  cause.name = name;
  if (error instanceof Error && error.stack !== undefined) cause.stack = error.stack;
  return cause;
}
