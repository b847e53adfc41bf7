// What every command prints and how it ends: results to stdout, everything else to stderr, one line an error.
import Table from 'cli-table3';
import { ClassifiedError, InputError } from '../domain/errors.ts';
import { failureTable } from '../domain/failures.ts';

/** Exit statuses that scripts may rely on. */
export const exitCodes = {
  done: 0,
  disagrees: 1,
  badInput: 2,
  uncovered: 3,
  unavailable: 69,
  interrupted: 130,
} as const;

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A note to the person who watches: never on stdout. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** A plain table, right for a terminal and for a log. Numbers are aligned to the right. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const rules = [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ];
  const table = new Table({
    head: [...head],
    chars: { ...Object.fromEntries(rules.map((name) => [name, ''])), middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: head.map((_, column) =>
      rows.length > 0 && rows.every((row) => /^[\d.%–-]+$/.test(String(row[column] ?? '')))
        ? 'right'
        : 'left',
    ),
  });
  table.push(...rows.map((row) => row.map(String)));
  return table.toString().replace(/[ \t]+$/gm, '');
}

/** ` --flag value` as a shell takes it, for a command that a person is to copy; nothing where there is no value. */
export function flagText(flag: string, value: string | undefined): string {
  if (value === undefined) return '';
  return ` ${flag} ${/^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`}`;
}

/** The one line that an error is worth, and the status to exit with. */
export function describeError(error: unknown): { readonly line: string; readonly exitCode: number } {
  if (error instanceof InputError) return { line: error.message, exitCode: error.exitCode };
  if (error instanceof ClassifiedError) {
    const operator = failureTable[error.failureClass].owner === 'operator';
    return {
      line: `${error.failureClass}: ${error.message}`,
      exitCode: operator ? exitCodes.badInput : exitCodes.unavailable,
    };
  }
  const message = error instanceof Error ? error.message : String(error);
  return {
    line: `unexpected: ${message.split('\n')[0] ?? ''} (set PASSBAND_DEBUG=1 to see where)`,
    exitCode: 70,
  };
}

/** Prints an error as its one line (and where it comes from, when asked) and sets the exit status. */
export function fail(error: unknown): void {
  const { line, exitCode } = describeError(error);
  note(`passband: ${line}`);
  if (process.env['PASSBAND_DEBUG'] === '1' && error instanceof Error) note(error.stack ?? '');
  process.exitCode = exitCode;
}
