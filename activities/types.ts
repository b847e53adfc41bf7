// What workflows know of activities: names, small inputs, small outputs. Bulk travels by reference through the store.
import type { GateRecord } from '../domain/gate.ts';
import type { Ending, FailureClass, RejectionReason, Result } from '../domain/failures.ts';
import type { Ref } from '../domain/refs.ts';
import type { PlanShape } from '../domain/sweep.ts';

/** Whose phase it is: a trial of the plan, or one side of a task's gate. The pair with `generation` is the idempotency key. */
export type Subject =
  | {
      readonly kind: 'trial';
      readonly sweep: string;
      readonly plan: Ref;
      readonly index: number;
      readonly generation: number;
    }
  | {
      readonly kind: 'gate';
      readonly sweep: string;
      readonly plan: Ref;
      readonly task: number;
      readonly agent: 'oracle' | 'nop';
      readonly environmentMode: 'shared' | 'separate';
      readonly generation: number;
    };

/** Timeouts that the workflow sets on the activities of one trial, from its limits. */
export interface TrialTimes {
  readonly steps: readonly { readonly name: string; readonly agentMs: number; readonly verifierMs: number }[];
  readonly setupMs: number;
}

export interface ProvisionOutcome {
  readonly uid: string;
  readonly host: string;
}

export interface EpisodeOutcome {
  readonly ending: Ending;
  readonly turns: number;
}

export interface DeltaOutcome {
  /** The end that the delta itself names: its cap was passed, or the final state could not be read. */
  readonly ending: 'agent-disk-full' | null;
  readonly finalState: boolean;
}

export interface VerifyOutcome {
  readonly result: Result;
  readonly reward: number | null;
  /** False: the step's min_reward was not met, later steps are unreached. */
  readonly goOn: boolean;
}

export interface TrialOutcome {
  readonly counts: boolean;
  readonly ending: Ending | null;
  readonly result: Result | null;
  readonly failure: FailureClass | null;
  readonly generations: number;
}

export interface SweepShape {
  readonly shape: PlanShape;
  readonly concurrency: number;
}

export interface GateSummary {
  readonly outcome: GateRecord['outcome'];
  readonly reason: RejectionReason | null;
}

/** Images are there and the gate may begin: in the mode that the task asks for, separate where it leaves it unset. */
export interface GateReady {
  readonly outcome: 'ready';
  readonly environmentMode: 'shared' | 'separate';
}

/** What is known of a subject before a generation begins. */
export interface TrialState {
  readonly times: TrialTimes;
  /** The outcome of the verdict that is there already. */
  readonly done: TrialOutcome | null;
  /** The first generation that has left nothing in the store: from 1. */
  readonly generation: number;
}

/** What a lost generation was lost by. */
export interface RecordedFailure {
  /** Its sandbox was removed by a command of ours that ended early: no failure of the platform. */
  readonly interrupted: boolean;
}

/** Which trials of a stretch of the plan's order have their verdict already. */
export interface DoneTrials {
  /** Runs of positions: [first, how many], ascending. */
  readonly runs: readonly (readonly [number, number])[];
  readonly endings: Readonly<Partial<Record<Ending, number>>>;
  readonly results: Readonly<Partial<Record<Result, number>>>;
}

export interface PhaseInput {
  readonly subject: Subject;
}
export interface StepInput extends PhaseInput {
  /** Index of the step, from 0. */
  readonly step: number;
}

/** Of a phase that is asked for again after it was parked: tries before this asking, which count on (world.ts, `Run.attempt`). */
export interface Again {
  readonly earlierTries: number;
}

/**
 * Every activity is idempotent by its input. A failure is an ApplicationFailure whose type is a failure class.
 * The worker heartbeats for every activity while it runs, so that a dead worker is noticed within the heartbeat timeout.
 */
export interface Activities {
  /** The plan's shape and the settings as they are now. */
  readPlan(input: { readonly sweep: string; readonly plan: Ref }): Promise<SweepShape>;
  /** Surveys what no trial of the sweep may reach, once, before anything else: where that cannot be proved it fails at once. */
  beginSweep(input: { readonly sweep: string }): Promise<void>;
  /** Removes whatever is left of the sweep's sandboxes, and what was made beside them. */
  finishSweep(input: { readonly sweep: string }): Promise<void>;
  /**
   * Looks once whether what was away is back: the store, the platform, or the model at a position of the plan, of which
   * one token is asked. Fails by its class where it is not.
   */
  probe(input: {
    readonly sweep: string;
    readonly plan: Ref;
    readonly away: 'store' | 'platform' | number;
  }): Promise<void>;
  /** Which trials at positions [first, first + count) have a verdict: what a resumed sweep does not start. */
  readDone(input: {
    readonly sweep: string;
    readonly plan: Ref;
    readonly first: number;
    readonly count: number;
  }): Promise<DoneTrials>;
  /** Limits of a subject's task, its verdict where it is there, and the generation to begin (the input's own is ignored). */
  readTrial(input: PhaseInput): Promise<TrialState>;
  /** What the sweep's own gate record says, which stands for good; null where the task has none yet. */
  readGate(input: { readonly plan: Ref; readonly task: number }): Promise<GateSummary | null>;
  /**
   * Refuses what the driver cannot run, builds or finds the images. Takes over the gate record that stands for exactly
   * those images, or forms the one that needs no run; else answers that the gate may begin.
   */
  prepareTask(input: {
    readonly sweep: string;
    readonly plan: Ref;
    readonly task: number;
  }): Promise<GateSummary | GateReady>;
  /**
   * Creates or adopts the agent's sandbox; proves closed egress, then starts the image's ENTRYPOINT and waits for the
   * healthcheck. What fails behind the sandbox's creation fails as phase `passBarrier`.
   */
  provision(input: PhaseInput & Again): Promise<ProvisionOutcome>;
  /** Runs one step's episode, or goes on with it from its turn records. Heartbeats. */
  runEpisode(input: StepInput & Again): Promise<EpisodeOutcome>;
  /** Stops the agent's processes and takes the delta of this step's end. */
  takeDelta(input: StepInput): Promise<DeltaOutcome>;
  /** Verifies this step's end: in a fresh sandbox, or in the same where the mode is shared. Heartbeats. */
  verify(input: StepInput & Again): Promise<VerifyOutcome>;
  /** Writes the verdict, once, from the phases' stored outcomes. */
  recordVerdict(input: PhaseInput & { readonly reached: number }): Promise<TrialOutcome>;
  /** Writes a generation's failure record, once; says whether it was lost by our own removal. */
  recordFailure(
    input: PhaseInput & {
      readonly failureClass: FailureClass;
      readonly phase: string;
      readonly message: string;
    },
  ): Promise<RecordedFailure>;
  /** Destroys every sandbox of this generation; its connections are closed. */
  cleanUp(input: PhaseInput): Promise<void>;
  /** Reads both sides' outcomes and writes the gate record, once, for this sweep and for others on the same images; asks for the shared mode to be tried where only it may pass. */
  concludeGate(input: {
    readonly sweep: string;
    readonly plan: Ref;
    readonly task: number;
    readonly environmentMode: 'shared' | 'separate';
    /** Generations whose outcomes count; null: that side ended in a failure that the task owns (failure table). */
    readonly oracle: number | null;
    readonly nop: number | null;
  }): Promise<GateSummary | { readonly outcome: 'try-shared' }>;
}
