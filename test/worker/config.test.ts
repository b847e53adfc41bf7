// The worker's configuration: defaults, flags over environment, errors that name the variable.
import { describe, expect, test } from 'vitest';
import { InputError } from '../../domain/errors.ts';
import { readWorkerConfig } from '../../worker/config.ts';

const errorOf = (env: Record<string, string>): InputError => {
  try {
    readWorkerConfig(env);
  } catch (error) {
    if (error instanceof InputError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
};

describe('worker configuration', () => {
  test('has a default for everything, and empty values count as unset', () => {
    const config = readWorkerConfig({ PATH: '/bin', PASSBAND_STORE: '' });
    expect(config).toMatchObject({
      temporalAddress: '127.0.0.1:7233',
      namespace: 'default',
      storeUrl: './passband-results',
      sandbox: 'engine',
      engine: '/var/run/docker.sock',
      concurrency: 8,
      cachedWorkflows: 200,
      drainMs: 3_000,
    });
  });

  test('takes a flag over the variable that it stands for', () => {
    const env = { PASSBAND_STORE: 's3://b/p', PASSBAND_WORKER_CONCURRENCY: '3', DOCKER_HOST: 'tcp://h:2375' };
    const config = readWorkerConfig(env, { PASSBAND_STORE: './here', PASSBAND_ENGINE: '/run/e.sock' });
    expect(config).toMatchObject({ storeUrl: './here', concurrency: 3, engine: '/run/e.sock' });
    expect(readWorkerConfig(env).engine).toBe('tcp://h:2375');
  });

  test('takes the file of the Kubernetes driver, and has none by itself', () => {
    expect(readWorkerConfig({}).kubernetes).toBeNull();
    const env = { PASSBAND_SANDBOX: 'kubernetes', PASSBAND_KUBERNETES: '/etc/passband/kubernetes.yaml' };
    expect(readWorkerConfig(env)).toMatchObject({
      sandbox: 'kubernetes',
      kubernetes: '/etc/passband/kubernetes.yaml',
    });
  });

  test.each([
    [{ PASSBAND_WORKER_CONCURRENCY: 'many' }, 'PASSBAND_WORKER_CONCURRENCY: expected a whole number'],
    [{ PASSBAND_WORKER_CONCURRENCY: '0' }, 'PASSBAND_WORKER_CONCURRENCY: expected at least 1'],
    [{ PASSBAND_WORKER_CONCURRENCY: '5000' }, 'PASSBAND_WORKER_CONCURRENCY: expected at most 1000'],
    [{ PASSBAND_SANDBOX: 'docker' }, 'PASSBAND_SANDBOX: expected engine, kubernetes'],
    [{ PASSBAND_TEMPORAL_ADDRESS: 'localhost' }, 'PASSBAND_TEMPORAL_ADDRESS: expected HOST:PORT'],
    [{ PASSBAND_WORKER_CONCURENCY: '4' }, 'PASSBAND_WORKER_CONCURENCY is no variable of the worker'],
  ])('refuses %j in one line with exit status 78', (env, message) => {
    const error = errorOf(env);
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('\n');
    expect(error.exitCode).toBe(78);
  });

  test('names every variable that is wrong', () => {
    const { message } = errorOf({ PASSBAND_SANDBOX: 'x', PASSBAND_LOG_LEVEL: 'loud' });
    expect(message).toContain('PASSBAND_SANDBOX');
    expect(message).toContain('PASSBAND_LOG_LEVEL');
  });
});
