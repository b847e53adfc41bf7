// The whole bench: a sweep of known-rate models under faults, then everything that must hold at its end.
import { setTimeout as sleep } from 'node:timers/promises';
import { doubledThings, foreignReplies, lostTrials, wrongVerdicts } from './checks.ts';
import { effectsOf } from './effects.ts';
import type { FaultKind } from './fault.ts';
import { gatherEvidence, leftIn } from './evidence.ts';
import { Injector } from './injector.ts';
import { isClean, reportOf, type FaultReport, type Findings } from './report.ts';
import { scheduleOf } from './schedule.ts';
import { openScene, trialsPerAttempt, type OpenScene } from './scene.ts';
import { orphanKeys, strayGenerations } from './store-keys.ts';
import { namesIn } from '../../test/support/cluster-names.ts';

export interface FaultsOptions {
  /** How many faults. */
  readonly count: number;
  /** Decides the faults and what the models mean. */
  readonly seed: number;
  /** What may be injected. */
  readonly kinds: readonly FaultKind[];
  readonly say: (line: string) => void;
  /** Aborted: nothing more is injected, and everything that was started is ended. */
  readonly signal: AbortSignal;
}

/** About as many are done while one fault comes after the other. */
const trialsAFault = 1;
const progressMs = 15_000;
/** Without any object written for so long, with its waits of minutes between tries, a sweep will not go on. */
const stallMs = 25 * 60_000;

/** Injects the faults and judges what came of it. Brings the cluster up where it is not, and leaves it up. */
export async function runFaults(options: FaultsOptions): Promise<FaultReport> {
  const { count, seed, kinds, say, signal } = options;
  const begun = performance.now();
  const schedule = scheduleOf(kinds, count, seed);
  const scene = await openScene({ seed, say });
  let keep = true;
  try {
    const before = await namesIn(scene.cluster, scene.namespace);
    const injector = new Injector({ seed, schedule, kinds, say });
    await runUnderFaults(scene, injector, options);
    signal.throwIfAborted();
    await scene.workers.stop();
    const evidence = await gatherEvidence(scene, seed);
    const { trials, calibrations, keys, uploads, torn, failures, unnamedBlobs } = evidence;
    const verdicts = new Map(
      trials.flatMap(({ trial, verdict }) => (verdict === null ? [] : [[trial, verdict] as const])),
    );
    const findings: Findings = {
      lost: lostTrials(trials),
      doubled: doubledThings(scene.writes.writes, scene.sampled),
      wrong: [...wrongVerdicts(trials, calibrations), ...foreignReplies(keys, scene.sampled)],
      orphans: [
        ...orphanKeys(keys, scene.sweeps.plans),
        ...strayGenerations(keys, verdicts),
        ...uploads.map((key) => `an upload of ${key} that was not ended`),
        ...torn.map((key) => `${key} is not what was written there`),
      ],
      left: await leftIn(scene, before),
    };
    const lostGenerations = Object.fromEntries(
      [...Map.groupBy(failures, ({ failureClass }) => failureClass)].map(([name, { length }]) => [
        name,
        length,
      ]),
    );
    const report = reportOf({
      ...{ seed, schedule, findings, faults: injector.injected, wallMs: performance.now() - begun },
      effects: effectsOf(injector.injected, scene.writes.writes),
      counts: {
        ...{ trials: trials.length, verdicts: verdicts.size, lostGenerations },
        ...{ unnamedBlobs: unnamedBlobs.length, sampled: scene.sampled.length },
        recorded: keys.filter((key) => key.endsWith('-reply.json')).length,
      },
    });
    keep = !isClean(report);
    return report;
  } finally {
    await scene.close({ keep });
    if (keep) say(`the workers' logs are in ${scene.dir}`);
  }
}

/** Sweeps, for as long as there are faults to inject, each to its end. */
async function runUnderFaults(
  scene: OpenScene,
  injector: Injector,
  { count, say, signal }: FaultsOptions,
): Promise<void> {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const injecting = injector.run(scene, stop).catch((error: unknown) => over.abort(error));
  const watching = watch(scene, injector, { count, say, over });
  try {
    for (let round = 1; ; round += 1) {
      const left = count - injector.injected.length;
      const attempts = Math.max(2, Math.ceil((left * trialsAFault) / trialsPerAttempt));
      await scene.sweeps.run(`faults-${round}`, attempts, stop);
      if (!injector.needsTrials) break;
      say(`sweep ${round} is over before all faults are injected: another one begins`);
    }
    await injecting;
  } catch (error) {
    // What stopped it is said by the one who did; a stall is judged as any end is.
    if (!(over.signal.reason instanceof Stalled)) throw over.signal.aborted ? over.signal.reason : error;
    say(over.signal.reason.message);
  } finally {
    over.abort();
    await injecting;
    await watching;
  }
}

class Stalled extends Error {}

interface Watched {
  readonly count: number;
  readonly say: (line: string) => void;
  readonly over: AbortController;
}

/** A line now and then, and an end where nothing goes on any more. */
async function watch(scene: OpenScene, injector: Injector, { count, say, over }: Watched): Promise<void> {
  const begun = performance.now();
  while (!over.signal.aborted) {
    await sleep(progressMs, undefined, { signal: over.signal }).catch(() => undefined);
    const { writes, sweeps } = scene;
    const seconds = Math.round((performance.now() - begun) / 1_000);
    const lasting = injector.lasting.length > 0 ? ` (now: ${injector.lasting.join(', ')})` : '';
    say(
      `${seconds} s: ${injector.injected.length}/${count} faults${lasting}, ${writes.verdicts}/${sweeps.planned} verdicts, ${writes.inFlight.length} in flight`,
    );
    const silentMs = performance.now() - (writes.lastMs ?? begun);
    if (silentMs > stallMs)
      over.abort(
        new Stalled(`nothing was written for ${Math.round(silentMs / 1_000)} s: the sweep is given up`),
      );
  }
}
