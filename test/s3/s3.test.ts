// The store in S3, on a real server: the conformance suite, straight and through a server that refuses checksum trailers, and faults on the way.
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { ListMultipartUploadsCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/port.ts';
import { describeStore } from '../store/conformance.ts';
import { collect } from '../support/collect.ts';
import { freePort } from '../support/listening.ts';
import { refuseChecksums, startProxy, type Proxy, type ProxyRules } from '../support/s3-proxy.ts';
import { s3StartTimeoutMs, startS3Server, type S3Server } from '../support/s3.ts';

let server: S3Server;
let strict: Proxy;
beforeAll(async () => {
  server = await startS3Server();
  strict = await startProxy({ target: server.endpoint, refuse: refuseChecksums });
}, s3StartTimeoutMs);
afterAll(async () => {
  await strict.stop();
  await server.stop();
});

const locationAt = (endpoint: string): Promise<string> =>
  Promise.resolve(`s3://${server.bucket}/${randomUUID()}?endpoint=${encodeURIComponent(endpoint)}`);

describeStore('a store in S3', () => locationAt(server.endpoint));
describeStore('C88: a store in an S3 that refuses checksum trailers, by the same configuration', () =>
  locationAt(strict.endpoint),
);

describe('S3 as a store', () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function openThrough(rules: ProxyRules): Promise<{ direct: Store; store: Store }> {
    const proxy = await startProxy({ target: server.endpoint, ...rules });
    closing.push(() => proxy.stop());
    const prefix = randomUUID();
    const at = async (endpoint: string): Promise<Store> => {
      const store = await openStore(`s3://${server.bucket}/${prefix}?endpoint=${endpoint}`, process.env);
      closing.push(() => store.close());
      return store;
    };
    return { direct: await at(server.endpoint), store: await at(proxy.endpoint) };
  }
  const bodyOf = async (store: Store, key: string): Promise<string | null> => {
    const body = await store.get(key);
    return body === null ? null : Buffer.from(body).toString();
  };
  const mebibytes = (count: number): Readable =>
    Readable.from(Array.from({ length: count }, () => Buffer.alloc(1024 ** 2, 'x')));

  it('C88: what the SDK sends by itself is refused by that server, so the configuration is what passes', async () => {
    const client = new S3Client({
      endpoint: strict.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      maxAttempts: 1,
    });
    closing.push(() => {
      client.destroy();
      return Promise.resolve();
    });
    await expect(
      client.send(new PutObjectCommand({ Bucket: server.bucket, Key: 'x', Body: 'x' })),
    ).rejects.toMatchObject({ name: 'NotImplemented' });
  });

  it('C85: an upload that is cut each time is StoreUnavailable, lists nothing, keeps no parts, and leaves the old object', async () => {
    let cutting = false;
    const { direct, store } = await openThrough({
      cutAfterBytes: ({ method }) => (cutting && method === 'PUT' ? 100_000 : null),
    });
    await store.put('v/verdict.json', Buffer.from('old'));
    cutting = true;
    const big = Buffer.alloc(3_000_000, 'x');
    for (const write of [
      () => store.put('v/verdict.json', big),
      () => store.putOnce('v/other.json', big),
      () => store.putBlob(mebibytes(40)),
    ]) {
      await expect(write()).rejects.toMatchObject({ failureClass: 'StoreUnavailable' });
    }
    expect(await bodyOf(direct, 'v/verdict.json')).toBe('old');
    expect((await collect(direct.list(''))).map(({ key }) => key)).toEqual(['v/verdict.json']);
    const client = new S3Client({ endpoint: server.endpoint, region: 'us-east-1', forcePathStyle: true });
    expect(
      (await client.send(new ListMultipartUploadsCommand({ Bucket: server.bucket }))).Uploads ?? [],
    ).toEqual([]);
    client.destroy();
  });

  it('goes on after one cut, of an object as of a part of a blob', async () => {
    let cuts = 2;
    const { direct, store } = await openThrough({
      cutAfterBytes: ({ method }) => (method === 'PUT' && cuts-- > 0 ? 100_000 : null),
    });
    await store.putOnce('v/verdict.json', Buffer.alloc(2_000_000, 'x'));
    const ref = await store.putBlob(mebibytes(40));
    expect(cuts).toBeLessThan(0);
    expect(ref.bytes).toBe(40 * 1024 ** 2);
    expect((await direct.get('v/verdict.json'))?.byteLength).toBe(2_000_000);
    expect((await direct.get(ref.key))?.byteLength).toBe(ref.bytes);
  });

  it('C86: a write whose answer was lost is found to be there, and the same', async () => {
    let losing = true;
    const { direct, store } = await openThrough({
      refuse: ({ method }) => {
        if (method !== 'PUT' || !losing) return null;
        losing = false;
        return { status: 503, code: 'SlowDown' };
      },
    });
    await direct.putOnce('v/verdict.json', Buffer.from('mine'));
    expect(await store.putOnce('v/verdict.json', Buffer.from('mine'))).toMatchObject({
      written: false,
      same: true,
    });
    expect(losing).toBe(false);
  });

  it('asks again after 409 ConditionalRequestConflict', async () => {
    let conflicts = 3;
    const { direct, store } = await openThrough({
      refuse: ({ method }) =>
        method === 'PUT' && conflicts-- > 0 ? { status: 409, code: 'ConditionalRequestConflict' } : null,
    });
    expect(await store.putOnce('v/verdict.json', Buffer.from('x'))).toMatchObject({ written: true });
    expect(conflicts).toBeLessThan(0);
    expect(await bodyOf(direct, 'v/verdict.json')).toBe('x');
  });

  it('a server that is away, or answers 503 for good, is StoreUnavailable within seconds', async () => {
    const { store } = await openThrough({ refuse: () => ({ status: 503, code: 'ServiceUnavailable' }) });
    await expect(store.get('x')).rejects.toMatchObject({ failureClass: 'StoreUnavailable' });
    const away = await openStore(`s3://b-away/?endpoint=http://127.0.0.1:${await freePort()}`, process.env);
    closing.push(() => away.close());
    for (const failing of [
      () => away.get('x'),
      () => away.open('x'),
      () => away.put('x', Buffer.from('x')),
      () => collect(away.list('')),
    ]) {
      await expect(failing()).rejects.toMatchObject({
        failureClass: 'StoreUnavailable',
        message: expect.stringMatching(/^s3:\/\/b-away\?.*: ECONNREFUSED/) as unknown,
      });
    }
  });

  it('refused credentials are Forbidden', async () => {
    const { store } = await openThrough({});
    const secret = process.env['AWS_SECRET_ACCESS_KEY'];
    process.env['AWS_SECRET_ACCESS_KEY'] = 'wrong';
    closing.push(() => {
      process.env['AWS_SECRET_ACCESS_KEY'] = secret;
      return Promise.resolve();
    });
    for (const refused of [() => store.get('x'), () => store.check(), () => collect(store.list(''))]) {
      await expect(refused()).rejects.toMatchObject({ failureClass: 'Forbidden' });
    }
  });

  it('a bucket that is not there is bad input in one line', async () => {
    const store = await openStore(`s3://no-such-bucket/?endpoint=${server.endpoint}`, process.env);
    closing.push(() => store.close());
    for (const refused of [
      () => store.get('x'),
      () => store.check(),
      () => store.putBlob(mebibytes(20)),
      () => collect(store.list('')),
    ]) {
      await expect(refused()).rejects.toMatchObject({
        name: 'InputError',
        message: expect.stringMatching(/no such bucket: create it[^\n]*$/) as unknown,
      });
    }
  });

  it('C86: a server that ignores If-None-Match does not pass the check', async () => {
    const proxy = await startProxy({});
    closing.push(() => proxy.stop());
    const store = await openStore(`s3://bucket/?endpoint=${proxy.endpoint}`, process.env);
    closing.push(() => store.close());
    await expect(store.check()).rejects.toMatchObject({
      name: 'InputError',
      message: expect.stringContaining('ignores If-None-Match') as unknown,
    });
  });

  it('is opened again by the URL that it shows', async () => {
    const { store } = await openThrough({});
    await store.put('a', Buffer.from('x'));
    const again = await openStore(store.url);
    closing.push(() => again.close());
    expect(await bodyOf(again, 'a')).toBe('x');
  });
});
