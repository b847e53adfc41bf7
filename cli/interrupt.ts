// Ctrl-C and SIGTERM as signals that work listens to, so that nothing is left behind.
import { InputError } from '../domain/errors.ts';
import { exitCodes, note } from './output.ts';

export interface Interrupt {
  readonly signal: AbortSignal;
  readonly off: () => void;
}

/** Of work whose end takes a while. */
export interface StagedInterrupt extends Interrupt {
  /** Aborts at the second signal: what is waited for politely is ended at once. */
  readonly hurry: AbortSignal;
}

/** What a person is told at each signal. */
export interface InterruptLines {
  readonly stopping: string;
  readonly hurrying: string;
  readonly leaving: string;
}

const signals = ['SIGINT', 'SIGTERM'] as const;

/** Calls `onSignal` with how many there were, from 1, until `off`. */
function countSignals(onSignal: (count: number) => void): () => void {
  let count = 0;
  const listener = (): void => {
    count += 1;
    onSignal(count);
  };
  for (const name of signals) process.on(name, listener);
  return () => {
    for (const name of signals) process.off(name, listener);
  };
}

/** Aborts at the first SIGINT or SIGTERM; a second one ends the process as usual. */
export function onInterrupt(): Interrupt {
  const controller = new AbortController();
  const off = countSignals(() => {
    off();
    controller.abort();
  });
  return { signal: controller.signal, off };
}

/**
 * The first SIGINT or SIGTERM aborts `signal`, the second `hurry`, the third ends the process with status 130; each
 * with its line.
 */
export function onInterrupts(lines: InterruptLines, say: (line: string) => void = note): StagedInterrupt {
  const stop = new AbortController();
  const hurry = new AbortController();
  const off = countSignals((count) => {
    if (count === 1) {
      say(lines.stopping);
      stop.abort();
    } else if (count === 2) {
      say(lines.hurrying);
      hurry.abort();
    } else {
      say(lines.leaving);
      process.exit(exitCodes.interrupted);
    }
  });
  return { signal: stop.signal, hurry: hurry.signal, off };
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
