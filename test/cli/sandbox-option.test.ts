// Where trials run: the flags of it, and what becomes of them at a session's worker and at reading.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { checkCommand } from '../../cli/check.ts';
import { checkSandbox, kubernetesFile } from '../../cli/sandbox-option.ts';
import { openSession, workerArgs } from '../../cli/session.ts';
import { readWorkerConfig } from '../../worker/config.ts';
import { lacksOf } from '../../worker/drivers.ts';

afterEach(() => {
  process.exitCode = undefined;
});

it('takes the cluster’s file as named, else from PASSBAND_KUBERNETES, where empty is unset', () => {
  const env = { PASSBAND_KUBERNETES: '/etc/passband/kubernetes.yaml' };
  expect(kubernetesFile('here.yaml', env)).toBe('here.yaml');
  expect(kubernetesFile(undefined, env)).toBe('/etc/passband/kubernetes.yaml');
  expect(kubernetesFile(undefined, { PASSBAND_KUBERNETES: '' })).toBeNull();
});

it('refuses a cluster’s file where trials run on an engine', () => {
  expect(() => checkSandbox({ kubernetes: 'k.yaml' })).toThrow(/add --sandbox kubernetes/);
  expect(() => checkSandbox({ sandbox: 'kubernetes', kubernetes: 'k.yaml' })).not.toThrow();
});

it('hands a session’s driver to its worker', () => {
  const session = { temporal: '127.0.0.1:1', namespace: 'default', store: './s', concurrency: 3 };
  const shared = ['--temporal', '127.0.0.1:1', '--namespace', 'default', '--store', './s'];
  expect(workerArgs(session, { sandbox: 'engine', engine: '/run/e.sock' })).toEqual([
    ...shared,
    ...['--sandbox', 'engine', '--engine', '/run/e.sock', '--concurrency', '3'],
  ]);
  expect(workerArgs(session, { sandbox: 'kubernetes', kubernetes: 'k.yaml' })).toEqual([
    ...shared,
    ...['--sandbox', 'kubernetes', '--kubernetes', 'k.yaml', '--concurrency', '3'],
  ]);
  expect(
    readWorkerConfig({}, { PASSBAND_SANDBOX: 'kubernetes', PASSBAND_KUBERNETES: 'k.yaml' }),
  ).toMatchObject({
    sandbox: 'kubernetes',
    kubernetes: 'k.yaml',
  });
});

it('starts nothing where no file names the cluster', async () => {
  const options = {
    temporal: null,
    namespace: 'default',
    store: './s',
    engine: null,
    concurrency: 1,
    env: {},
  };
  const session = openSession({ ...options, sandbox: 'kubernetes', kubernetes: null, say: () => undefined });
  await expect(session).rejects.toMatchObject({
    exitCode: 78,
    message: expect.stringContaining('--kubernetes FILE') as string,
  });
});

it.each(['engine', 'kubernetes'] as const)(
  '%s cannot give a GPU, and asks no engine or cluster for that',
  (sandbox) => {
    expect(lacksOf(sandbox)({ needs: ['gpu'], networkMode: 'no-network' }, 'deny')).toEqual(['gpu']);
  },
);

it('check --sandbox kubernetes lints by what a cluster lacks', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'check-'));
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await cp('examples/tasks/access-report', path.join(dir, 'gpu'), { recursive: true });
    const toml = await readFile(path.join(dir, 'gpu/task.toml'), 'utf8');
    await writeFile(path.join(dir, 'gpu/task.toml'), toml.replace('cpus = 1', 'cpus = 1\ngpus = 1'));
    await checkCommand().parseAsync([dir, '--sandbox', 'kubernetes'], { from: 'user' });
    expect(write.mock.calls.join('')).toMatch(/unsupported: gpu\/task\.toml:\d+ environment\.gpus/);
    expect(process.exitCode).toBe(3);
  } finally {
    write.mockRestore();
    await rm(dir, { recursive: true, force: true });
  }
});
