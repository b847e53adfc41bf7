// Ctrl-C and SIGTERM as a signal that work listens to, so that nothing is left behind.
import { InputError } from '../domain/errors.ts';
import { exitCodes } from './output.ts';

export interface Interrupt {
  readonly signal: AbortSignal;
  readonly off: () => void;
}

/** Aborts at the first SIGINT or SIGTERM; a second one ends the process as usual. */
export function onInterrupt(): Interrupt {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  process.once('SIGINT', abort);
  process.once('SIGTERM', abort);
  return {
    signal: controller.signal,
    off: () => {
      process.off('SIGINT', abort);
      process.off('SIGTERM', abort);
    },
  };
}

/**
 * Work that cannot be interrupted by itself, given up when the signal aborts: whoever asked ends what it runs on.
 * @throws InputError (exit 130)
 */
export async function orInterrupted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  work.catch(() => {});
  const aborted = new Promise<never>((_, reject) => {
    const give = (): void =>
      reject(new InputError('interrupted: the same command starts again', exitCodes.interrupted));
    if (signal.aborted) give();
    signal.addEventListener('abort', give, { once: true });
  });
  return await Promise.race([work, aborted]);
}
