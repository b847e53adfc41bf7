// What an error of the operating system means for a store in a folder: passing trouble, or input that a person must mend.
import { ClassifiedError, InputError, ObjectError } from '../domain/errors.ts';

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** The folder or file is not there, or one of its parents is a file. */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '');

/** The error of the house for an error of the operating system; any other one as it came. `where` is the folder or the object that it was met at. */
export function filesystemError(error: unknown, root: string, where: string): Error {
  if (!(error instanceof Error && 'syscall' in error)) return asError(error);
  const code = codeOf(error);
  const cause = { cause: error };
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return new ClassifiedError(
        'StoreUnavailable',
        `no space left for the store ${root} (${code}): free some, and go on`,
        cause,
      );
    case 'EROFS':
      return new InputError(
        `the store ${root} is on a read-only file system: mount it writable, or give another --store`,
      );
    case 'EACCES':
    case 'EPERM':
      return new InputError(
        `no permission for ${where} in the store ${root} (${code}): give this user access to it, or give another --store`,
      );
    case 'EXDEV':
      return new InputError(
        `the store ${root} spans several file systems at ${where}: keep all of it on one, so that its writes are atomic`,
      );
    case 'ENOTSUP':
    case 'ENOSYS':
    case 'EMLINK':
      return new InputError(
        `the file system of the store ${root} has no hard links (${code}), so nothing could be written once: give another --store`,
      );
    case 'EEXIST':
    case 'EISDIR':
    case 'ENOTDIR':
      return new (where === root ? InputError : ObjectError)(
        `the store ${root} cannot hold ${where}: an object or a folder with a part of that name is in its way (${code})`,
      );
    default:
      return new ClassifiedError(
        'StoreUnavailable',
        `the store ${root} failed at ${where}: ${error.message}`,
        cause,
      );
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
