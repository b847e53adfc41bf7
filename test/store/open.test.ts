// Locations of stores: what each means, and what is said of those that mean nothing.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore, openWrittenStore, parseS3Url } from '../../store/open.ts';

describe('a location', () => {
  it.each([
    ['./results', `file://${path.resolve('results')}`],
    ['results/', `file://${path.resolve('results')}`],
    ['/var/a b', 'file:///var/a%20b'],
    ['file:///var/a%20b', 'file:///var/a%20b'],
    ['s3://bucket', 's3://bucket'],
    ['s3://bucket/some/prefix/', 's3://bucket/some/prefix'],
  ])('%s is shown as %s, which opens the same', async (location, shown) => {
    const store = await openStore(location);
    expect(store.url).toBe(shown);
    const again = await openStore(store.url);
    expect(again.url).toBe(shown);
    await store.close();
    await again.close();
  });

  it.each([
    ['', 'the store is empty: give a folder'],
    ['gs://bucket', 'no store speaks gs://: give a folder, file:///DIR or s3://BUCKET/PREFIX'],
    ['file://host/dir', 'a file URL has three slashes and no host'],
    ['s3://', '"" is no bucket name'],
    ['s3://bad host/x', 'expected s3://BUCKET/PREFIX'],
    ['s3://Bucket_1/x', '"Bucket_1" is no bucket name'],
    ['s3://bucket:9000/x', '"bucket:9000" is no bucket name'],
    ['s3://bucket/x?endpont=http://h', 'unknown endpont: it takes endpoint, region and pathStyle'],
    ['s3://bucket/x?endpoint=h:9000', 'endpoint: expected endpoint=http(s)://HOST'],
    ['s3://bucket/x?pathStyle=yes', 'pathStyle: expected'],
    ['s3://bucket/x#y', 'a # is no part of an s3 URL'],
    ['s3://bucket/100%', 'a % in its path is no escape'],
    ['s3://bucket/a//b', 'has an empty component'],
  ])('%s is refused in one line', async (location, message) => {
    await expect(openStore(location)).rejects.toMatchObject({
      name: 'InputError',
      message: expect.stringContaining(message) as unknown,
    });
  });

  it('with credentials in it is refused without repeating them', async () => {
    const refused = await openStore('s3://AKIA1:hidden@bucket/x').catch((error: unknown) => String(error));
    expect(refused).toContain('credentials do not belong in a URL');
    expect(refused).not.toMatch(/hidden|AKIA1/);
  });
});

it('a store that is only read must have been written, whatever else lies there', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'passband-open-'));
  try {
    const store = await openStore(dir);
    await store.put('notes/a', Buffer.from('a'));
    await expect(openWrittenStore(dir)).rejects.toMatchObject({
      name: 'InputError',
      message: expect.stringContaining(`no store at ${store.url}`) as unknown,
    });
    await store.put('v1/store.json', Buffer.from('{}'));
    const written = await openWrittenStore(dir);
    expect(written.url).toBe(store.url);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

describe('an S3 URL', () => {
  it('takes endpoint, region and style from its query', () => {
    expect(parseS3Url('s3://b-1/p/q?endpoint=http://h:9000&region=eu-1&pathStyle=0', {})).toEqual({
      url: 's3://b-1/p/q?endpoint=http%3A%2F%2Fh%3A9000&region=eu-1&pathStyle=0',
      bucket: 'b-1',
      prefix: 'p/q/',
      endpoint: 'http://h:9000',
      region: 'eu-1',
      pathStyle: false,
    });
  });

  it('takes the endpoint from the environment, its own before the general one, and shows it', () => {
    const env = { AWS_ENDPOINT_URL: 'http://general:1', AWS_ENDPOINT_URL_S3: 'http://own:2' };
    expect(parseS3Url('s3://bucket', env)).toMatchObject({
      url: 's3://bucket?endpoint=http%3A%2F%2Fown%3A2',
      endpoint: 'http://own:2',
      region: 'us-east-1',
      pathStyle: true,
    });
    expect(parseS3Url('s3://bucket?endpoint=http://url:3', env)).toMatchObject({ endpoint: 'http://url:3' });
  });

  it('leaves region and address to the SDK where neither it nor the environment names them', () => {
    expect(parseS3Url('s3://bucket', {})).toMatchObject({ region: null, endpoint: null, pathStyle: false });
    expect(parseS3Url('s3://bucket', { AWS_REGION: 'eu-2' })).toMatchObject({ region: 'eu-2' });
  });

  it('names the variable that holds no URL', () => {
    expect(() => parseS3Url('s3://bucket', { AWS_ENDPOINT_URL: 'h:9000' })).toThrow(
      'AWS_ENDPOINT_URL=h:9000 is no http or https URL',
    );
  });
});
