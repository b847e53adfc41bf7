// Which keys a store takes, and their order: one grammar for both drivers, so that a store can be copied from one to the other.
import { ObjectError } from '../domain/errors.ts';

/** S3 takes keys of at most 1,024 bytes, file systems names of at most 255. */
const keyLimitBytes = 1024;
const nameLimitBytes = 255;

/** Folder for files that are still being written; no key may go through it. */
export const temporaryFolder = '.tmp';

/** Returns the key as it came. @throws ObjectError that says what is wrong with it. */
export function checkKey(key: string): string {
  const wrong = faultOf(key);
  if (wrong !== null) throw new ObjectError(`store key ${JSON.stringify(key)} ${wrong}`);
  return key;
}

/** A prefix is what a key may begin with: its last component may be cut or empty. @throws ObjectError as checkKey. */
export function checkPrefix(prefix: string): string {
  if (prefix !== '') checkKey(`${prefix}x`);
  return prefix;
}

function faultOf(key: string): string | null {
  if (key === '') return 'is empty';
  if (!key.isWellFormed()) return 'is not well-formed Unicode';
  if (/[\p{Cc}\\]/u.test(key)) return 'holds a control character or a backslash';
  if (Buffer.byteLength(key) > keyLimitBytes) return `is longer than ${keyLimitBytes} bytes`;
  const names = key.split('/');
  if (names[0] === temporaryFolder)
    return `begins with ${temporaryFolder}, which is kept for unfinished files`;
  for (const name of names) {
    if (name === '') return 'has an empty component';
    if (name === '.' || name === '..') return `has the component "${name}"`;
    if (Buffer.byteLength(name) > nameLimitBytes)
      return `has a component longer than ${nameLimitBytes} bytes`;
  }
  return null;
}
