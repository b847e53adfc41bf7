// When a worker is asked to stop: by a signal, or by the end of its stdin where its parent holds the other end.
import type { Readable } from 'node:stream';

export interface StopRequest {
  readonly signal: AbortSignal;
  /** Stops listening. */
  dispose(): void;
}

/** A second signal is left to its default, so that an operator is never stuck behind a drain. */
export function listenForStop(stdin: Readable | null): StopRequest {
  const controller = new AbortController();
  const onSignal = (): void => {
    dispose();
    controller.abort();
  };
  const dispose = (): void => {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
    stdin?.off('end', onSignal).off('close', onSignal).pause();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  stdin?.on('end', onSignal).on('close', onSignal).resume();
  return { signal: controller.signal, dispose };
}
