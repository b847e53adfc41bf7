// Injects a schedule's faults into a scene, one after the other and some at once, for as long as trials are in flight.
import { setTimeout as sleep } from 'node:timers/promises';
import { chanceOf } from './chance.ts';
import type { FaultKind, InjectedFault } from './fault.ts';
import type { Scene } from './scene.ts';
import { nextFault, type ScheduledFault } from './schedule.ts';

const pollMs = 250;

export interface InjectorOptions {
  readonly seed: number;
  readonly schedule: readonly ScheduledFault[];
  readonly kinds: readonly FaultKind[];
  readonly say: (line: string) => void;
}

export class Injector {
  /** Those that are over, in the order of their ends. */
  readonly injected: InjectedFault[] = [];
  readonly #options: InjectorOptions;
  readonly #kinds: ReadonlyMap<string, FaultKind>;
  readonly #lasting = new Map<ScheduledFault, FaultKind>();
  readonly #waiting: ScheduledFault[];

  constructor(options: InjectorOptions) {
    this.#options = options;
    this.#kinds = new Map(options.kinds.map((kind) => [kind.name, kind]));
    this.#waiting = [...options.schedule];
  }

  /** Faults are still to come, or wait for a trial to begin. */
  get needsTrials(): boolean {
    return this.#waiting.length > 0 || [...this.#lasting.values()].some(({ area }) => area === 'agent');
  }

  get lasting(): readonly string[] {
    return [...this.#lasting.values()].map(({ name }) => name);
  }

  /** Injects them all. @throws what stopped one of them: a bench that cannot set right what it broke has no figures. */
  async run(scene: Scene, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting;
    const broken = new AbortController();
    const stop = AbortSignal.any([signal, broken.signal]);
    const running: Promise<void>[] = [];
    let lastMs = performance.now();
    while (waiting.length > 0 && !stop.aborted) {
      await sleep(pollMs);
      const next = nextFault(waiting, this.#kinds, [...this.#lasting.values()]);
      const kind = next === null ? undefined : this.#kinds.get(next.kind);
      if (next === null || kind === undefined || scene.writes.inFlight.length === 0) continue;
      if (performance.now() - lastMs < next.afterMs) continue;
      waiting.splice(waiting.indexOf(next), 1);
      lastMs = performance.now();
      running.push(
        this.#inject(scene, { fault: next, kind, signal: stop }).catch((error: unknown) => {
          broken.abort(error);
        }),
      );
    }
    await Promise.all(running);
    signal.throwIfAborted();
    if (broken.signal.aborted) throw broken.signal.reason;
  }

  async #inject(
    scene: Scene,
    { fault, kind, signal }: { fault: ScheduledFault; kind: FaultKind; signal: AbortSignal },
  ): Promise<void> {
    const { seed, say } = this.#options;
    const { ordinal } = fault;
    let [fromMs, hits]: [number, readonly string[]] = [performance.now(), scene.writes.inFlight];
    this.#lasting.set(fault, kind);
    try {
      await kind.inject({
        ...{ scene, signal, chance: chanceOf(`fault/${seed}/${ordinal}`) },
        hits: (trials) => {
          [fromMs, hits] = [performance.now(), trials];
        },
      });
    } catch (error) {
      throw new Error(`fault ${ordinal}, ${kind.name}, could not be injected`, { cause: error });
    } finally {
      this.#lasting.delete(fault);
    }
    const toMs = performance.now();
    this.injected.push({ ordinal, kind: kind.name, fromMs, toMs, hits });
    const lasted = ((toMs - fromMs) / 1_000).toFixed(1);
    say(`fault ${ordinal}: ${kind.name}, ${lasted} s, ${hits.length} trials hit`);
  }
}
