// Egress surveys: what the network proofs of a sweep are held against, asked of the driver once in a while and shared.
import { createHash } from 'node:crypto';
import { ClassifiedError } from '../../domain/errors.ts';
import type { FailureClass } from '../../domain/failures.ts';
import { sweepLabels, workflowLabel } from '../../domain/sandbox-labels.ts';
import type { SweepSettings } from '../../domain/sweep.ts';
import { sweepWorkflowId } from '../../domain/workflow-ids.ts';
import type { EgressSurvey, SurveyRequest } from '../../sandbox/egress.ts';
import { SandboxGone, type SandboxDriver } from '../../sandbox/port.ts';
import { Cache } from '../cache.ts';
import { untilAborted } from '../sandbox-pool.ts';
import { storeEndpointOf, sweepTargets } from './targets.ts';

const hourMs = 60 * 60_000;

/**
 * A survey older than this is asked for anew, with the sweep's settings as they stand then, and the driver looks whether
 * what it found open is still there to be shut off from.
 */
const ageMs = 30_000;
/**
 * What is made for a survey is made anew this often, under another name, and lives long enough to be there for every
 * proof that is held against it.
 */
const epochMs = 12 * hourMs;
const lifetimeSec = (2 * epochMs) / 1_000;

export interface SurveyDeps {
  readonly driver: Pick<SandboxDriver, 'surveyEgress'>;
  readonly store: { readonly url: string };
  readonly storeId: () => Promise<string>;
  readonly settingsOf: (sweep: string) => Promise<SweepSettings>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
}

export class Surveys {
  readonly #deps: SurveyDeps;
  readonly #surveys = new Cache<EgressSurvey>(16);
  readonly #settings = new Cache<SweepSettings>(16);

  constructor(deps: SurveyDeps) {
    this.#deps = deps;
  }

  /**
   * The survey at a sweep's start.
   * @throws ClassifiedError EgressUnprovable where a target that must answer does not
   */
  async begin(sweep: string, signal: AbortSignal): Promise<EgressSurvey> {
    const settings = await this.#deps.settingsOf(sweep);
    return this.#ask(await this.#requestFor(sweep, settings), signal);
  }

  /**
   * The survey that proofs are held against now. The sweep's start has shown that it can be made: one that fails later
   * is waited for, and no reason to stop.
   * @throws ClassifiedError PlatformUnavailable
   */
  async of(sweep: string, signal: AbortSignal): Promise<EgressSurvey> {
    const settings = await this.#settings.get(JSON.stringify([this.#age(), sweep]), () =>
      this.#deps.settingsOf(sweep),
    );
    const request = await this.#requestFor(sweep, settings);
    try {
      return await this.#ask(request, signal);
    } catch (error) {
      if (!(error instanceof ClassifiedError) || error.failureClass !== 'EgressUnprovable') throw error;
      throw new ClassifiedError('PlatformUnavailable', error.message, { cause: error });
    }
  }

  /** Several trials may wait for one survey: who is cancelled goes, and the survey goes on. */
  #ask(request: SurveyRequest, signal: AbortSignal): Promise<EgressSurvey> {
    const survey = this.#surveys.get(JSON.stringify([this.#age(), request]), () =>
      lossesWaitedFor(this.#deps.driver.surveyEgress(request)),
    );
    return untilAborted(signal, survey);
  }

  /** Another one every while: what was read or asked for in one is not kept into the next. */
  #age(): number {
    return Math.floor(this.#deps.now().getTime() / ageMs);
  }

  async #requestFor(sweep: string, settings: SweepSettings): Promise<SurveyRequest> {
    const { store, env, now } = this.#deps;
    const storeId = await this.#deps.storeId();
    const epoch = Math.floor(now().getTime() / epochMs);
    const identity = createHash('sha256').update(`${storeId}/${sweep}/${epoch}`).digest('hex').slice(0, 12);
    return {
      name: `pb-${identity}-egress`,
      // Of the sweep's own workflow, whichever trial asks: what is left of it when that has closed is the reaper's.
      labels: { ...sweepLabels(storeId, sweep), [workflowLabel]: sweepWorkflowId(sweep) },
      targets: sweepTargets(settings, storeEndpointOf(store.url, env)),
      lifetimeSec,
    };
  }
}

/** Of the canary and its peer, which are no trial's: a node that took one of them along costs nobody a generation. */
const canaryLosses: ReadonlySet<FailureClass> = new Set<FailureClass>([
  'SandboxLost',
  'SandboxUnschedulable',
  'ImagePullTransient',
  'ExecBroken',
]);

async function lossesWaitedFor<T>(survey: Promise<T>): Promise<T> {
  try {
    return await survey;
  } catch (error) {
    const lost =
      error instanceof SandboxGone ||
      (error instanceof ClassifiedError && canaryLosses.has(error.failureClass));
    if (!lost) throw error;
    throw new ClassifiedError('PlatformUnavailable', `the survey of egress: ${error.message}`, {
      cause: error,
    });
  }
}
