// A watch over a running sandbox: its end, and its disk, noticed while nobody asks it anything.
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxGone, type Sandbox } from '../../sandbox/port.ts';
import type { Log } from '../world.ts';

const pollMs = 3_000;

export interface WatchOptions {
  /** Aborted with SandboxGone: also where the sandbox's files outgrow its disk limit. */
  readonly found: AbortController;
  readonly log: Log;
}

/** Polls the state until there is something to say of it, or the function that it answers is called. */
export function watchSandbox(sandbox: Sandbox, { found, log }: WatchOptions): () => Promise<void> {
  const stopped = new AbortController();
  const watching = (async () => {
    while (!stopped.signal.aborted) {
      try {
        await sleep(pollMs, undefined, { signal: stopped.signal });
      } catch {
        return; // stopped: nothing else ends this sleep
      }
      const state = await sandbox.state().catch((error: unknown) => {
        // An engine that does not answer is not the sandbox's end: the episode's own calls will tell.
        log.warn(
          { sandbox: sandbox.identity.name, error: String(error) },
          'the sandbox could not be looked at',
        );
        return null;
      });
      if (state !== null && state.kind !== 'alive') {
        found.abort(new SandboxGone(state));
        return;
      }
    }
  })();
  return () => {
    stopped.abort();
    return watching;
  };
}
