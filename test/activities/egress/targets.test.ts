// What only the sweep knows of, as targets of a network proof.
import { describe, expect, it } from 'vitest';
import { storeEndpointOf, sweepTargets } from '../../../activities/egress/targets.ts';

const endpoints = (urls: Readonly<Record<string, string | string[]>>) => ({
  endpoints: Object.fromEntries(
    Object.entries(urls).map(([name, url]) => [
      name,
      { urls: [url].flat(), servedName: null, apiKeyEnv: null, maxRequests: null },
    ]),
  ),
});

describe('the targets of a sweep', () => {
  it('are its models and its store, by host and port, the port of the scheme where none is named', () => {
    const settings = endpoints({ b: 'https://models.example/v1', a: 'http://10.0.0.7:8000/v1' });
    expect(sweepTargets(settings, 'http://172.30.0.1:7070')).toEqual([
      { name: 'model endpoint a', kind: 'tcp', host: '10.0.0.7', port: 8000 },
      { name: 'model endpoint b', kind: 'tcp', host: 'models.example', port: 443 },
      { name: 'store', kind: 'tcp', host: '172.30.0.1', port: 7070 },
    ]);
  });

  it('are every replica of a model', () => {
    const settings = endpoints({ a: ['http://10.0.0.7:8000/v1', 'http://10.0.0.8:8000/v1'] });
    expect(sweepTargets(settings, null).map(({ name, host }) => [name, host])).toEqual([
      ['model endpoint a', '10.0.0.7'],
      ['model endpoint a 2', '10.0.0.8'],
    ]);
  });

  it('leave out what is on loopback, and name an address once', () => {
    const settings = endpoints({
      a: 'http://127.0.0.1:8000',
      b: 'http://localhost:8000',
      c: 'http://[::1]:8000',
      d: 'http://127.8.0.3',
      e: 'http://[2001:db8::1]:8000',
      f: 'http://[2001:db8::1]:8000/other',
    });
    expect(sweepTargets(settings, null)).toEqual([
      { name: 'model endpoint e', kind: 'tcp', host: '2001:db8::1', port: 8000 },
    ]);
  });
});

describe('the endpoint of a store', () => {
  it.each([
    ['/data/results', {}, null],
    ['s3://b/p?endpoint=http%3A%2F%2F172.30.0.1%3A7070', {}, 'http://172.30.0.1:7070'],
    ['s3://b/p', { AWS_REGION: 'eu-central-1' }, 'https://s3.eu-central-1.amazonaws.com'],
    ['s3://b/p?region=us-west-2', { AWS_REGION: 'eu-central-1' }, 'https://s3.us-west-2.amazonaws.com'],
    ['s3://b/p', {}, 'https://s3.amazonaws.com'],
  ])('of %s is where it is asked', (url, env, endpoint) => {
    expect(storeEndpointOf(url, env)).toBe(endpoint);
  });
});
