// Errors of the file system: those that are a fault of a task's folder, and not of the machine that reads it.

const faults: ReadonlySet<string> = new Set([
  'EACCES',
  'EISDIR',
  'ELOOP',
  'ENAMETOOLONG',
  'ENOENT',
  'ENOTDIR',
  'EPERM',
]);

/** Whether an error has one of these codes. */
export function isCode(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && codes.some((code) => error.code === code);
}

/** What is wrong with a file of a task, for people; null where the error is no fault of the folder. */
export function faultOf(error: unknown): string | null {
  return isCode(error, ...faults) ? `cannot be read (${error.code ?? ''})` : null;
}
