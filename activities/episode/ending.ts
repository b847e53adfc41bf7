// How an episode ends from outside its scaffold: by the clock, or by what its own processes did to the sandbox.
import { ClassifiedError } from '../../domain/errors.ts';
import type { Ending } from '../../domain/failures.ts';
import type { SandboxGone } from '../../sandbox/port.ts';
import { isOwnDoing } from '../barrier.ts';

/** The agent's time is used up. Goes through the scaffold like any error of its ports, and is an ending that counts. */
export class TimeUp extends Error {
  constructor() {
    super("the agent's own clock ran out");
    this.name = 'TimeUp';
  }
}

export interface EpisodeEnding {
  readonly ending: Ending;
  readonly detail: string | null;
}

/** The ending that an error means, null where it is a failure and forms none. */
export function endingOf(error: unknown): EpisodeEnding | null {
  if (error instanceof TimeUp) return { ending: 'agent-timeout', detail: error.message };
  if (!isOwnDoing(error)) return null;
  return { ending: endingOfGone(error), detail: error.state.reason };
}

function endingOfGone({ state }: SandboxGone): Ending {
  switch (state.kind === 'gone' ? state.why : 'exited') {
    case 'oom':
      return 'agent-oom';
    case 'disk':
      return 'agent-disk-full';
    case 'exited':
    case 'deleted':
    case 'evicted':
    case 'host-lost':
      return 'agent-exit';
  }
}

/** Another worker wrote this turn first, of another request: whatever this one would do now is not part of the episode. */
export const overtaken = (key: string): ClassifiedError =>
  new ClassifiedError('Unexpected', `another worker has written ${key} for another request: this one stops`);
