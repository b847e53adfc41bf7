// The commands of a reply, however they were written: what they may be, and what only deserves a warning.
import { Buffer } from 'node:buffer';

export interface ReplyCommand {
  readonly keystrokes: string;
  /** Seconds, 0 to 60. */
  readonly durationSec: number;
}

export type ParsedReply =
  | {
      readonly ok: true;
      readonly commands: readonly ReplyCommand[];
      readonly complete: boolean;
      readonly analysis: string;
      readonly plan: string;
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly error: string; readonly warnings: readonly string[] };

/** `checked`: NaN, negative and boolean durations are errors; `reference`: they pass, as numbers, as in the reference. */
export type DurationRule = 'checked' | 'reference';

const defaultDurationSec = 1;
const longestDurationSec = 60;

/** JSON text of all the keystrokes of one reply, in bytes: one turn of a terminal takes no more. */
const mostKeystrokeBytes = 4 * 1024 ** 2;

/** Seconds of a duration that was given as a number, or an error. */
export function checkDuration(
  value: number | boolean,
  where: string,
  rule: DurationRule,
): number | { readonly error: string } {
  if (rule === 'checked' && (typeof value === 'boolean' || Number.isNaN(value) || value < 0)) {
    return { error: `${where}: "duration" must be a number of seconds, 0 or more` };
  }
  const seconds = Number(value);
  // A wait that is NaN or negative is over at once in the reference too.
  return Number.isNaN(seconds) ? 0 : Math.min(Math.max(0, seconds), longestDurationSec);
}

/** What stands for a duration that is missing or no number; `what` is the fault. */
export function usualDuration(what: string, warnings: string[]): number {
  warnings.push(`${what}: ${defaultDurationSec}.0 second is used`);
  return defaultDurationSec;
}

export interface ReadReply {
  readonly commands: readonly ReplyCommand[] | { readonly error: string };
  readonly complete: boolean;
  readonly analysis: string;
  readonly plan: string;
  readonly warnings: readonly string[];
}

/** Of a reply that says it is done, faults of its commands become warnings and no command is run. */
export function replyOf({ commands, warnings, ...said }: ReadReply): ParsedReply {
  if (!('error' in commands)) return { ok: true, commands, warnings, ...said };
  if (!said.complete) return { ok: false, error: commands.error, warnings };
  return {
    ok: true,
    commands: [],
    warnings: [...warnings, `${commands.error}; no command was run`],
    ...said,
  };
}

/** What is typed has to fit into one turn of the terminal, however it is quoted. */
export function checkLength(commands: readonly ReplyCommand[]): { readonly error: string } | null {
  let bytes = 0;
  for (const { keystrokes } of commands) bytes += Buffer.byteLength(JSON.stringify(keystrokes));
  if (bytes <= mostKeystrokeBytes) return null;
  return { error: `the keystrokes are longer than the ${mostKeystrokeBytes} bytes that one reply may type` };
}

/** The next command is typed onto the same line where this one does not end its own. */
export function warnUnended(where: string, keystrokes: string, last: boolean, warnings: string[]): void {
  if (last || keystrokes.endsWith('\n')) return;
  warnings.push(`${where} does not end with a line break, so the next command is typed onto the same line`);
}
