// The order in which the services of a task start: each once what it waits for is there, and all of them in the end.
import type { Dependency } from '../../domain/services.ts';

export interface ServiceHealth {
  readonly argv: readonly string[];
  readonly intervalSec: number;
  readonly timeoutSec: number;
  readonly startPeriodSec: number;
  readonly retries: number;
}

export interface StartingService {
  readonly name: string;
  /** Empty: there is nothing to start, it is there. */
  readonly argv: readonly string[];
  readonly health: ServiceHealth | null;
  readonly dependsOn: readonly Dependency[];
}

/** What starting needs of the containers: a sandbox's (service-port.ts), or a test's. */
export interface ServicePort {
  /** Starts what a service is for, once however often it is asked; it is not waited for. */
  start(service: string, argv: readonly string[]): Promise<void>;
  /** Its exit status, once what was started has ended. */
  ended(service: string, argv: readonly string[], signal: AbortSignal): Promise<number>;
  /** One look at its health; `said` is what it printed. `tries` counts them from 1. */
  probe(
    service: string,
    health: ServiceHealth,
    look: { readonly tries: number; readonly signal: AbortSignal },
  ): Promise<{ readonly healthy: boolean; readonly said: string }>;
  /** Milliseconds, of whatever clock. */
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** A service ended, failed or stayed unhealthy where another one, or the agent, waits for it. */
export class ServiceFailed extends Error {
  readonly service: string;

  constructor(service: string, what: string) {
    super(`service ${service} ${what}`);
    this.name = 'ServiceFailed';
    this.service = service;
  }
}

/** How often a service that has just started is looked at: these looks only find out sooner. */
const eagerMs = 1_000;

/**
 * Starts all services, and answers when every one of them is there: healthy where it has a healthcheck, ended well where
 * that is what somebody waits for, started else. Asked again after a cut, it goes on where it was.
 * @throws ServiceFailed; what the port throws
 */
export async function startServices(
  services: readonly StartingService[],
  port: ServicePort,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const within = AbortSignal.any([signal, stop.signal]);
  const byName = new Map(services.map((service) => [service.name, service]));
  const waitedToEnd = new Set(
    services.flatMap(({ dependsOn }) =>
      dependsOn.filter(({ condition }) => condition === 'completed').map(({ service }) => service),
    ),
  );
  const found = (name: string): StartingService => {
    const service = byName.get(name);
    if (service === undefined) throw new RangeError(`no service ${name}`);
    return service;
  };

  const started = shared(async (name) => {
    const { argv, dependsOn } = found(name);
    await Promise.all(dependsOn.map(({ service, condition }) => reached[condition](service)));
    within.throwIfAborted();
    if (argv.length > 0) await port.start(name, argv);
  });
  const healthy = shared(async (name) => {
    await started(name);
    await waitHealthy(found(name), port, within);
  });
  const completed = shared(async (name) => {
    await started(name);
    const { argv } = found(name);
    if (argv.length === 0) throw new ServiceFailed(name, 'has nothing to complete');
    const status = await port.ended(name, argv, within);
    if (status !== 0) throw new ServiceFailed(name, `ended with exit status ${status}`);
  });
  const reached: Record<Dependency['condition'], (name: string) => Promise<void>> = {
    started,
    healthy,
    completed,
  };

  const all = services.map(({ name, health }) => {
    if (waitedToEnd.has(name)) return completed(name);
    return health === null ? started(name) : healthy(name);
  });
  try {
    await Promise.all(all);
  } finally {
    // The first failure is told; what still waits is not left behind.
    stop.abort();
    await Promise.allSettled(all);
  }
}

/** One promise a service, whoever asks. */
function shared(reach: (name: string) => Promise<void>): (name: string) => Promise<void> {
  const under = new Map<string, Promise<void>>();
  return (name) => {
    const known = under.get(name) ?? reach(name);
    under.set(name, known);
    return known;
  };
}

/** An engine looks for the first time after one interval; failures before that, or in the start period, do not count. */
async function waitHealthy({ name, argv, health }: StartingService, port: ServicePort, signal: AbortSignal) {
  if (health === null)
    throw new ServiceFailed(name, 'is waited for until it is healthy, and has no healthcheck');
  const looked = new AbortController();
  const within = AbortSignal.any([signal, looked.signal]);
  const look = lookUntilHealthy(name, health, port, within);
  const end = argv.length === 0 ? [] : [endedFirst(name, argv, port, within)];
  try {
    await Promise.race([look, ...end]);
  } finally {
    looked.abort();
    await Promise.allSettled([look, ...end]);
  }
}

async function lookUntilHealthy(name: string, health: ServiceHealth, port: ServicePort, signal: AbortSignal) {
  const intervalMs = health.intervalSec * 1_000;
  const countedFrom = port.now() + Math.max(health.startPeriodSec * 1_000, intervalMs);
  let failures = 0;
  for (let tries = 1; ; tries += 1) {
    const counts = port.now() >= countedFrom;
    const { healthy, said } = await port.probe(name, health, { tries, signal });
    if (healthy) return;
    if (counts) failures += 1;
    if (failures >= health.retries) {
      throw new ServiceFailed(name, `is unhealthy, ${failures} times in a row: ${said.trim().slice(-300)}`);
    }
    const early = Math.min(intervalMs, eagerMs, Math.max(1, countedFrom - port.now()));
    await port.sleep(counts ? intervalMs : early, signal);
  }
}

async function endedFirst(name: string, argv: readonly string[], port: ServicePort, signal: AbortSignal) {
  const status = await port.ended(name, argv, signal);
  throw new ServiceFailed(name, `ended with exit status ${status} before it was healthy`);
}
