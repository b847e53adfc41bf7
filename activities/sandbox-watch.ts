// A watch over a running sandbox: its end, and its disk, noticed while nobody asks it anything.
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxGone, type Sandbox } from '../sandbox/port.ts';
import { untilAborted } from './sandbox-pool.ts';
import type { World } from './world.ts';

export interface WatchOptions {
  /** Aborted with SandboxGone: also where the sandbox's files outgrow its disk limit. */
  readonly found: AbortController;
  readonly world: Pick<World, 'log' | 'waits'>;
}

/** Polls the state until there is something to say of it, or the function that it answers is called. */
export function watchSandbox(
  sandbox: Sandbox,
  { found, world: { log, waits } }: WatchOptions,
): () => Promise<void> {
  const stopped = new AbortController();
  const watching = (async () => {
    while (!stopped.signal.aborted) {
      try {
        await sleep(waits.sandboxPollMs, undefined, { signal: stopped.signal });
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

/**
 * Does `body` under a watch: it fails with SandboxGone as soon as the sandbox is seen to have ended, or to have outgrown
 * its disk. The signal that `body` gets is aborted with it.
 */
export async function underWatch<T>(
  sandbox: Sandbox,
  { signal, world }: { readonly signal: AbortSignal } & Pick<WatchOptions, 'world'>,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const found = new AbortController();
  const stopWatch = watchSandbox(sandbox, { found, world });
  try {
    return await untilAborted(found.signal, body(AbortSignal.any([signal, found.signal])));
  } finally {
    await stopWatch();
  }
}
