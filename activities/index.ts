// The activities as a worker registers them: each one framed by heartbeats, cancellation and the failure table.
import { takeDelta } from './delta.ts';
import { cleanUp } from './clean-up.ts';
import { runEpisode } from './episode/run-episode.ts';
import { concludeGate } from './gate/conclude-gate.ts';
import { prepareTask } from './gate/prepare-task.ts';
import { readGate } from './gate/read-gate.ts';
import { performing } from './performing.ts';
import { probe } from './probe.ts';
import { setUp } from './set-up.ts';
import { beginSweep, finishSweep } from './sweep-ends.ts';
import { readDone, readPlan, readTrial } from './trial-state.ts';
import type { Activities } from './types.ts';
import { recordFailure, recordVerdict } from './verdict.ts';
import { verify } from './verify/verify.ts';
import { createWorld, type ActivityDeps } from './world.ts';

export type { ActivityDeps } from './world.ts';

/** All activities over one store and one driver. They share connections, and keep no other state. */
export function createActivities(deps: ActivityDeps): Activities {
  const world = createWorld(deps);
  return {
    readPlan: performing(world, 'readPlan', readPlan),
    beginSweep: performing(world, 'beginSweep', beginSweep),
    finishSweep: performing(world, 'finishSweep', finishSweep),
    probe: performing(world, 'probe', probe),
    readDone: performing(world, 'readDone', readDone),
    readTrial: performing(world, 'readTrial', readTrial),
    readGate: performing(world, 'readGate', readGate),
    prepareTask: performing(world, 'prepareTask', prepareTask),
    provision: performing(world, 'provision', setUp),
    runEpisode: performing(world, 'runEpisode', runEpisode),
    takeDelta: performing(world, 'takeDelta', takeDelta),
    verify: performing(world, 'verify', verify),
    recordVerdict: performing(world, 'recordVerdict', recordVerdict),
    recordFailure: performing(world, 'recordFailure', recordFailure),
    cleanUp: performing(world, 'cleanUp', cleanUp),
    concludeGate: performing(world, 'concludeGate', concludeGate),
  };
}
