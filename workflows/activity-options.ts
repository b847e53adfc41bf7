// Every timeout and retry policy of every activity, each named and explained. Milliseconds.
import { proxyActivities, type ActivityOptions } from '@temporalio/workflow';
import type { Activities, TrialTimes } from '../activities/types.ts';
import { activityBackoff, askedBackoff, outageMs } from '../domain/backoff.ts';
import { failureClasses, failureTable } from '../domain/failures.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A worker that has been silent for this long is taken for dead, and its activity is given to another. */
const heartbeatTimeoutMs = 30_000;

/**
 * The outage as a number of tries: with full jitter a wait is half its ceiling on average, and the first nine stay
 * below the cap. A number of tries and not a schedule-to-close timeout, because that one runs on while no worker is
 * there: a queue without workers must keep its trials, however long (C84). For the same reason nothing here has a
 * schedule-to-start timeout.
 */
const maximumAttempts = Math.ceil(outageMs / (activityBackoff.capMs / 2)) + 9;

/**
 * The same where a cluster that has no room says when to look again: those waits are shorter, and nothing of the trial
 * is charged for them.
 */
const placeAttempts = Math.ceil(outageMs / (askedBackoff.capMs / 2)) + 6;

/** What `throw new Error()` in an activity is called: nobody named it, so it is `Unexpected` and not asked again. */
const unnamedErrorTypes = ['Error', 'TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'ZodError'];

/** The server's name for a try that took too long: a hung phase is a failure of its generation, not of one try. Of a record it is a hung store's, which is asked again. */
const startToCloseErrorType = 'TemporalTimeout:StartToClose';

/** The failure table as a retry policy: only what its row retries as the same activity is asked again. */
const nonRetryableErrorTypes = [
  ...failureClasses.filter((name) => failureTable[name].retry !== 'activity'),
  ...unnamedErrorTypes,
];

const retry = {
  initialInterval: activityBackoff.baseMs,
  backoffCoefficient: 2,
  maximumInterval: activityBackoff.capMs,
  maximumAttempts,
};

/** Reading and writing a few small objects: a store that takes longer than this is hung. */
const recordMs = 5 * minuteMs;
/** Checking the folders of a stretch of a plan, and packages of up to some hundred MiB. */
const packageMs = 30 * minuteMs;
/** Building or pulling the images of one task: over the longest build that tasks of the field declare. */
const imagesMs = 2 * hourMs;
/** What a phase needs beside its own limits: starting a sandbox on a loaded machine, laying files. */
const marginMs = 5 * minuteMs;
/** How long a driver may wait for a sandbox's place and image before it says that there is none, with room to spare. */
const placeMs = 30 * minuteMs;
/** Surveying what no trial may reach: from two sandboxes of its own, which have to find a place first. */
const surveyMs = placeMs;
/** One small question to a model, the store or the platform. */
const probeMs = 2 * minuteMs;
/** Streaming a delta of 2 GiB out of a sandbox and into a slow store. */
const deltaMs = hourMs;
/** What an agent's clock does not charge: queues, retries and gaps of the model (docs/failures.md). */
const unchargedMs = outageMs;
/** Clean-up that does not get through is left to be found by label: a trial does not hang on it for hours. */
const cleanUpAttempts = 12;

const options = (startToCloseTimeout: number, attempts = maximumAttempts): ActivityOptions => ({
  startToCloseTimeout,
  heartbeatTimeout: heartbeatTimeoutMs,
  retry: {
    ...retry,
    maximumAttempts: attempts,
    nonRetryableErrorTypes: [...nonRetryableErrorTypes, startToCloseErrorType],
  },
});

/** Of what reads and writes records alone: a store that hangs must not cost a trial that is done. */
const recordOptions = (startToCloseTimeout: number): ActivityOptions => ({
  ...options(startToCloseTimeout),
  retry: { ...retry, nonRetryableErrorTypes },
});

/** Activities whose time does not depend on a task's limits. */
export const records = proxyActivities<
  Pick<Activities, 'readPlan' | 'readTrial' | 'readGate' | 'recordVerdict' | 'recordFailure'>
>(recordOptions(recordMs));
export const stretches = proxyActivities<Pick<Activities, 'readDone' | 'concludeGate'>>(
  recordOptions(packageMs),
);
export const images = proxyActivities<Pick<Activities, 'prepareTask'>>(options(imagesMs));
export const cleaning = proxyActivities<Pick<Activities, 'cleanUp' | 'finishSweep'>>(
  options(recordMs, cleanUpAttempts),
);
/** One look, soon over: its sweep looks again after a wait of its own. */
export const probes = proxyActivities<Pick<Activities, 'probe'>>(options(probeMs, 1));
export const surveys = proxyActivities<Pick<Activities, 'beginSweep'>>(options(surveyMs));

/** Creating the sandbox, once it has a place, and the barrier with the image's healthcheck: within the task's set-up time. */
export const setUp = (times: TrialTimes) =>
  proxyActivities<Pick<Activities, 'provision'>>(options(placeMs + times.setupMs + marginMs, placeAttempts));

/** One step's episode: the agent's own clock stops it, this timeout only finds one that hangs. */
export const episodes = (agentMs: number) =>
  proxyActivities<Pick<Activities, 'runEpisode'>>(options(agentMs + unchargedMs));

export const deltas = proxyActivities<Pick<Activities, 'takeDelta'>>(options(deltaMs));

/**
 * One step's verification: up to three sandboxes one after the other (the verification itself, once more with
 * everything put back, and the oracle's where the first left no reward).
 */
export const verifications = (times: TrialTimes, verifierMs: number) =>
  proxyActivities<Pick<Activities, 'verify'>>(
    options(3 * (placeMs + times.setupMs + verifierMs) + marginMs, placeAttempts),
  );
