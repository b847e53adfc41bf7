import { describe, expect, it } from 'vitest';
import { KubernetesConfigSchema } from '../../../k8s/config.ts';
import { targetOf } from '../../../k8s/images/base-push.ts';
import { pinned } from '../../../k8s/images/images.ts';
import { parseReference, spell } from '../../../k8s/images/reference.ts';
import { placeOf } from '../../../k8s/images/registry-place.ts';

const digest = `sha256:${'ab'.repeat(32)}`;
const registryOf = (registry: Readonly<Record<string, unknown>>) =>
  KubernetesConfigSchema.parse({ registry: { repository: 'registry:5000/passband', ...registry } }).registry;
const whole = (text: string): string | null => {
  const parsed = parseReference(text);
  return parsed === null ? null : spell(parsed);
};
const placed = (text: string, registry: Readonly<Record<string, unknown>>) => {
  const parsed = parseReference(text);
  return parsed === null ? null : placeOf(parsed, registryOf(registry));
};

describe('an image reference', () => {
  it.each([
    ['debian', 'docker.io/library/debian:latest'],
    ['debian:12', 'docker.io/library/debian:12'],
    ['team/base:1.2-x_y', 'docker.io/team/base:1.2-x_y'],
    ['docker.io/debian:12', 'docker.io/library/debian:12'],
    ['index.docker.io/library/debian:12', 'docker.io/library/debian:12'],
    ['localhost/base', 'localhost/base:latest'],
    ['registry:5000/a/b__c/d:v1', 'registry:5000/a/b__c/d:v1'],
    ['172.30.0.1:5000/x', '172.30.0.1:5000/x:latest'],
    ['ghcr.io/Team/x', null],
    [`ghcr.io/team/x@${digest}`, `ghcr.io/team/x@${digest}`],
    [`ghcr.io/team/x:1@${digest}`, `ghcr.io/team/x:1@${digest}`],
    ['Debian:12', null],
    ['debian:', null],
    ['debian@sha256:12', null],
    ['a//b', null],
    ['https://ghcr.io/x', null],
    ['debian:12 --privileged', null],
    ['', null],
  ])('%s is %s', (text, spelled) => {
    expect(whole(text)).toBe(spelled);
  });

  it('is pinned by its digest alone', () => {
    expect(pinned({ reference: 'registry:5000/passband/task:abc', digest })).toBe(
      `registry:5000/passband/task@${digest}`,
    );
  });
});

describe('the place of an image', () => {
  it('is its own registry, over TLS', () => {
    expect(placed('ghcr.io/team/x:1', { insecure: true })).toEqual({
      ...{ url: 'https://ghcr.io', host: 'ghcr.io', repository: 'team/x', known: false },
    });
    expect(placed('debian', {})).toMatchObject({ url: 'https://registry-1.docker.io', host: 'docker.io' });
  });

  it('is ours over plain HTTP where it is said so', () => {
    const ours = 'registry:5000/passband/task:1';
    expect(placed(ours, { insecure: true })).toMatchObject({ url: 'http://registry:5000', known: true });
    expect(placed(ours, {})).toMatchObject({ url: 'https://registry:5000', known: true });
  });

  it('is the mirror of its host, below the mirror’s folder', () => {
    const mirrors = {
      'docker.io': 'registry:5000',
      'ghcr.io': 'http://cache:80/ghcr',
      'quay.io': 'cache.example/q/r/',
    };
    const options = { insecure: true, mirrors };
    expect(placed('debian:12', options)).toEqual({
      ...{ url: 'http://registry:5000', host: 'registry:5000', repository: 'library/debian', known: true },
    });
    expect(placed('ghcr.io/x/y', options)).toMatchObject({ url: 'http://cache:80', repository: 'ghcr/x/y' });
    expect(placed('quay.io/x', options)).toMatchObject({ url: 'https://cache.example', repository: 'q/r/x' });
  });

  it('is refused by name where a mirror is none', () => {
    expect(() => placed('debian', { mirrors: { 'docker.io': 'ftp://x' } })).toThrow(
      'registry.mirrors: docker.io: ftp://x is no mirror: give HOST[:PORT][/PREFIX]',
    );
  });

  it('takes a base image where a mirror of ours stands in for its registry, and no other', () => {
    const registry = registryOf({ mirrors: { 'docker.io': 'registry:5000' } });
    expect(targetOf('debian:12', registry).place.repository).toBe('library/debian');
    expect(targetOf('registry:5000/passband/own:1', registry).place.host).toBe('registry:5000');
    expect(() => targetOf('ghcr.io/x/y:1', registry)).toThrow(
      /nothing stands in for ghcr\.io.*registry\.mirrors/,
    );
  });
});
