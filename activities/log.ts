// The log of activities, as the worker's logger has it.

/** One line for each unit of work; the worker's logger has this shape. */
export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}
