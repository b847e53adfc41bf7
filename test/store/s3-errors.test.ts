// Errors of the S3 client in the words of the house: what each means, and that nothing of a request comes along.
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { s3Error } from '../../store/s3-errors.ts';

interface Answer {
  readonly name: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error as the SDK makes it: with the response, the request and its signature hanging from it. */
function answered({ name, status, headers = {} }: Answer): Error {
  return Object.assign(new Error(`${name} was said`), {
    name,
    $metadata: { httpStatusCode: status },
    $response: { statusCode: status, headers, body: { req: { _header: 'authorization: Signature=abc123' } } },
  });
}

describe('an error of S3', () => {
  it.each([
    ['AccessDenied', 403, 'Forbidden'],
    ['InvalidAccessKeyId', 403, 'Forbidden'],
    ['SlowDown', 503, 'StoreUnavailable'],
    ['InternalError', 500, 'StoreUnavailable'],
    ['RequestTimeout', 400, 'StoreUnavailable'],
  ])('%s with status %d is %s', (name, status, failureClass) => {
    expect(s3Error(answered({ name, status }), 's3://b at k')).toMatchObject({
      failureClass,
      message: expect.stringMatching(new RegExp(`^s3://b at k: .*${name}`)) as unknown,
    });
  });

  it.each([
    ['NoSuchBucket', 404, 'there is no such bucket'],
    ['PermanentRedirect', 301, 'check bucket, region and endpoint'],
    ['AuthorizationHeaderMalformed', 400, 'check bucket, region and endpoint'],
  ])('%s is bad input', (name, status, message) => {
    expect(s3Error(answered({ name, status }), 's3://b')).toMatchObject({
      name: 'InputError',
      message: expect.stringContaining(message) as unknown,
    });
  });

  it('hands on the delay that the store asked for', () => {
    const error = answered({ name: 'SlowDown', status: 503, headers: { 'retry-after': '7' } });
    expect(s3Error(error, 's3://b')).toMatchObject({ retryAfterMs: 7000 });
    expect(s3Error(answered({ name: 'SlowDown', status: 503 }), 's3://b')).toMatchObject({
      retryAfterMs: null,
    });
  });

  it('carries nothing of the request', () => {
    const error = s3Error(answered({ name: 'AccessDenied', status: 403 }), 's3://b');
    expect(error.cause).toMatchObject({ name: 'AccessDenied', message: 'AccessDenied was said' });
    expect(inspect(error, { depth: 20 })).not.toMatch(/authorization|abc123/);
  });
});

describe('an error on the way to S3', () => {
  it('of a socket is StoreUnavailable', () => {
    const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
    expect(s3Error(error, 's3://b')).toMatchObject({ failureClass: 'StoreUnavailable' });
  });

  it('that no credentials were found says how to give them', () => {
    const error = Object.assign(new Error('Could not load credentials from any providers'), {
      name: 'CredentialsProviderError',
    });
    expect(s3Error(error, 's3://b')).toMatchObject({
      failureClass: 'Forbidden',
      message: expect.stringContaining('set AWS_ACCESS_KEY_ID') as unknown,
    });
  });

  it('that no region was found says how to give it', () => {
    expect(s3Error(new Error('Region is missing'), 's3://b')).toMatchObject({
      name: 'InputError',
      message: expect.stringContaining('?region=NAME') as unknown,
    });
  });

  it('that is a defect of ours stays what it is', () => {
    const defect = new TypeError('x is undefined');
    expect(s3Error(defect, 's3://b')).toBe(defect);
  });
});
