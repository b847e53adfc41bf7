// The images of a task set: each asked for once, failures by name, waits injected.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { formatImages } from '../../cli/images-build.ts';
import { makeImages } from '../../cli/image-set.ts';
import { ClassifiedError } from '../../domain/errors.ts';
import type { Image } from '../../domain/gate.ts';
import type { ImageBuilder, ImageSource } from '../../sandbox/port.ts';
import { readTaskSet, type TaskSet } from '../../tasks/task-set.ts';
import { writeTasks } from '../support/small-tasks.ts';

let dir: string;
let set: TaskSet;
let waits: number[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'passband-test-'));
  await writeTasks(dir, {
    own: { 'tests/Dockerfile': 'FROM debian:12\n' },
    ready: { 'environment/Dockerfile': null, 'task.toml': '[environment]\ndocker_image = "team/ready:1"\n' },
  });
  set = await readTaskSet(dir);
  waits = [];
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const options = () => ({
  offline: true,
  atOnce: 2,
  say: () => undefined,
  wait: (ms: number) => Promise.resolve(waits.push(ms)),
  signal: new AbortController().signal,
});
const name = (source: ImageSource): string =>
  source.kind === 'prebuilt' ? source.reference : source.dockerfile;
const digest = `sha256:${'0'.repeat(64)}`;
const imageOf = (source: ImageSource): Image => ({ reference: `r/p/${name(source)}`, digest });

it('makes those of the environment and of the verifier, offline where it is asked so', async () => {
  const asked: ImageSource[] = [];
  const builder: ImageBuilder = {
    ensure: (source) => {
      asked.push(source);
      return Promise.resolve(imageOf(source));
    },
  };
  const { images, failed } = await makeImages(set.tasks, builder, options());
  expect(failed).toEqual([]);
  expect(images.map(({ task, of }) => `${task} ${of}`)).toEqual([
    'own environment',
    'own verifier',
    'ready environment',
  ]);
  expect(
    asked.filter(({ kind }) => kind === 'build').every((source) => source.kind === 'build' && source.offline),
  ).toBe(true);
  expect(asked).toContainEqual({ kind: 'prebuilt', reference: 'team/ready:1' });
});

it('C35: asks again while a registry is busy, after the delay that it asks for', async () => {
  let tries = 0;
  const builder: ImageBuilder = {
    ensure: (source) => {
      if (source.kind === 'build' || ++tries > 3) return Promise.resolve(imageOf(source));
      return Promise.reject(
        new ClassifiedError('ImagePullTransient', 'slow down', { retryAfterMs: 120_000 }),
      );
    },
  };
  const { images, failed } = await makeImages(set.tasks, builder, options());
  expect([images.length, failed.length]).toEqual([3, 0]);
  expect(waits).toHaveLength(3);
  expect(Math.min(...waits)).toBe(120_000);
});

it('names what fails and makes the rest; what never answers is given up', async () => {
  const builder: ImageBuilder = {
    ensure: (source) =>
      source.kind === 'build'
        ? Promise.reject(new ClassifiedError('ImageMissing', 'the build failed: why'))
        : Promise.reject(new ClassifiedError('PlatformUnavailable', 'BuildKit is away')),
  };
  const report = await makeImages(set.tasks, builder, options());
  expect(report.images).toEqual([]);
  expect(report.failed.map(({ task, of, failureClass }) => [task, of, failureClass])).toEqual([
    ['own', 'environment', 'ImageMissing'],
    ['own', 'verifier', 'ImageMissing'],
    ['ready', 'environment', 'PlatformUnavailable'],
  ]);
  expect(waits).toHaveLength(7);
  const text = formatImages({ ...report, rejected: [], pushed: new Set() });
  expect(text).toContain('failed: own: environment: ImageMissing: the build failed: why');
});

it('stops at what only the operator can mend', async () => {
  const builder: ImageBuilder = {
    ensure: () => Promise.reject(new ClassifiedError('Forbidden', 'not for you')),
  };
  await expect(makeImages(set.tasks, builder, options())).rejects.toMatchObject({
    failureClass: 'Forbidden',
  });
  expect(waits).toEqual([]);
});
