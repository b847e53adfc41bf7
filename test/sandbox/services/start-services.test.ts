// Services start in the order that they wait for each other in, and what does not come is told by its name.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  ServiceFailed,
  startServices,
  type ServiceHealth,
  type ServicePort,
  type StartingService,
} from '../../../sandbox/services/start-services.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

interface Behaviour {
  /** Seconds after its start from which on it is healthy. */
  readonly healthyAfterSec?: number;
  readonly ends?: { readonly afterSec: number; readonly status: number };
}

/** Containers on a clock of the test's: what was done, and when. */
class Containers implements ServicePort {
  readonly log: string[] = [];
  readonly probes: string[] = [];
  readonly #behaviour: Readonly<Record<string, Behaviour>>;
  readonly #begun = new Map<string, number>();

  constructor(behaviour: Readonly<Record<string, Behaviour>> = {}) {
    this.#behaviour = behaviour;
  }

  start(service: string, argv: readonly string[]): Promise<void> {
    this.log.push(`${Math.round(this.now() / 1_000)} s ${argv.join(' ')}`);
    if (!this.#begun.has(service)) this.#begun.set(service, this.now());
    return Promise.resolve();
  }

  async ended(service: string, _: readonly string[], signal: AbortSignal): Promise<number> {
    const ends = this.#behaviour[service]?.ends;
    const left = ends === undefined ? Infinity : ends.afterSec * 1_000 - this.#age(service);
    await this.sleep(Math.max(0, Math.min(left, 2 ** 30)), signal);
    return ends?.status ?? 0;
  }

  probe(
    service: string,
    _: ServiceHealth,
    { tries }: { readonly tries: number },
  ): Promise<{ healthy: boolean; said: string }> {
    this.probes.push(`${service} ${tries}`);
    const healthy = this.#age(service) >= (this.#behaviour[service]?.healthyAfterSec ?? Infinity) * 1_000;
    return Promise.resolve({ healthy, said: 'not yet' });
  }

  now(): number {
    return Date.now() - start;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      const stop = (): void => {
        clearTimeout(timer);
        reject(new Error('stopped'));
      };
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  }

  #age(service: string): number {
    return this.now() - (this.#begun.get(service) ?? this.now());
  }
}

let start = 0;

const health: ServiceHealth = {
  argv: ['ping'],
  intervalSec: 10,
  timeoutSec: 5,
  startPeriodSec: 0,
  retries: 3,
};

const service = (
  name: string,
  dependsOn: Readonly<Record<string, 'started' | 'healthy' | 'completed'>> = {},
  more: Partial<StartingService> = {},
): StartingService => ({
  name,
  argv: [name],
  health: null,
  dependsOn: Object.entries(dependsOn).map(([on, condition]) => ({ service: on, condition })),
  ...more,
});

/** How it went: nothing, or why not; the clock runs as fast as it can. */
async function run(
  services: readonly StartingService[],
  port: Containers,
  signal = new AbortController().signal,
) {
  start = Date.now();
  const outcome = startServices(services, port, signal).then(
    () => null,
    (error: unknown) => error,
  );
  await vi.runAllTimersAsync();
  const error = await outcome;
  return error instanceof ServiceFailed ? error.message : error;
}

describe('services', () => {
  it('wait until those before them are started, healthy or ended well, each by its own condition', async () => {
    const port = new Containers({
      db: { healthyAfterSec: 4 },
      seed: { ends: { afterSec: 7, status: 0 } },
    });
    const services = [
      service('main', { db: 'healthy', seed: 'completed' }),
      service('api', { db: 'healthy' }),
      service('seed', { db: 'started' }),
      service('db', {}, { health }),
    ];
    expect(await run(services, port)).toBeNull();
    expect(port.log).toEqual(['0 s db', '0 s seed', '4 s api', '7 s main']);
  });

  it('may come after main, which need not have anything to start', async () => {
    const port = new Containers();
    expect(
      await run([service('main', {}, { argv: [] }), service('load', { main: 'started' })], port),
    ).toBeNull();
    expect(port.log).toEqual(['0 s load']);
  });

  it('that have a healthcheck are waited for, though nobody depends on them', async () => {
    const port = new Containers({ api: { healthyAfterSec: 25 } });
    expect(await run([service('api', {}, { health })], port)).toBeNull();
    expect(Date.now() - start).toBe(30_000);
  });

  it('are found healthy after a second, and not after an interval', async () => {
    const port = new Containers({ api: { healthyAfterSec: 0.5 } });
    expect(await run([service('api', {}, { health: { ...health, intervalSec: 30 } })], port)).toBeNull();
    expect(Date.now() - start).toBe(1_000);
  });

  it('are started once, however many wait for them', async () => {
    const port = new Containers({ db: { healthyAfterSec: 1 } });
    const many = ['a', 'b', 'c'].map((name) => service(name, { db: 'healthy' }));
    expect(await run([...many, service('db', {}, { health })], port)).toBeNull();
    expect(port.log.filter((line) => line.endsWith(' db'))).toHaveLength(1);
  });
});

describe('a service that does not come', () => {
  it('is unhealthy after its retries, those of the start period and the first interval not counted', async () => {
    const port = new Containers();
    const slow = { ...health, startPeriodSec: 20, intervalSec: 5 };
    const services = [service('main', { api: 'healthy' }), service('api', {}, { health: slow })];
    expect(await run(services, port)).toBe('service api is unhealthy, 3 times in a row: not yet');
    // Counted at 20, 25 and 30 s.
    expect(Date.now() - start).toBe(30_000);
    expect(port.log).toEqual(['0 s api']);
  });

  it('has ended before it was healthy: nobody waits on', async () => {
    const port = new Containers({ api: { ends: { afterSec: 3, status: 127 } } });
    expect(await run([service('api', {}, { health })], port)).toBe(
      'service api ended with exit status 127 before it was healthy',
    );
    expect(Date.now() - start).toBe(3_000);
  });

  it('has ended badly where it was to end well, and what waits for it is not started', async () => {
    const port = new Containers({
      seed: { ends: { afterSec: 2, status: 3 } },
      api: { healthyAfterSec: 1_000 },
    });
    const services = [
      service('main', { seed: 'completed' }),
      service('seed'),
      service('api', {}, { health }),
    ];
    expect(await run(services, port)).toBe('service seed ended with exit status 3');
    expect(port.log).toEqual(['0 s seed', '0 s api']);
    expect(Date.now() - start).toBe(2_000);
  });

  it('has no healthcheck, and is waited for until it is healthy', async () => {
    const services = [service('main', { db: 'healthy' }), service('db')];
    expect(await run(services, new Containers())).toBe(
      'service db is waited for until it is healthy, and has no healthcheck',
    );
  });

  it('is no longer waited for once the work is cancelled', async () => {
    const cancel = new AbortController();
    const outcome = run([service('api', {}, { health })], new Containers(), cancel.signal);
    cancel.abort();
    expect(await outcome).toBeInstanceOf(Error);
  });
});
