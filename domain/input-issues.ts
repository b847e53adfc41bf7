// What is wrong with input that a schema refuses, in words for the person who wrote it.
import type { z } from 'zod';

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table of keys',
  record: 'a table of keys',
};

/** A document that knows where its values stand, as a YAML parser gives it. */
interface Placed {
  getIn(keys: readonly PropertyKey[], keepScalar: true): unknown;
}

/** The line of the deepest part of a path that stands in the document, or null. `lineAt`: of an offset into its text. */
export function lineOf(
  document: Placed,
  lineAt: (offset: number) => number,
  keys: readonly PropertyKey[],
): number | null {
  for (let depth = keys.length; depth > 0; depth -= 1) {
    const node = document.getIn(keys.slice(0, depth), true);
    if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)) {
      return lineAt(Number(node.range[0]));
    }
  }
  return null;
}

/** zod's own messages in our words; what a schema says itself stands. For `schema.safeParse(input, { error: inWords })`. */
export const inWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type': {
      const kind = kinds[issue.expected] ?? issue.expected;
      return issue.input === undefined ? `it is missing; it takes ${kind}` : `it takes ${kind}`;
    }
    case 'invalid_value':
      return `it takes ${issue.values.map(String).join(' or ')}`;
    case 'too_small': {
      if (issue.origin === 'string' || issue.origin === 'array') return 'it may not be empty';
      return `it takes ${issue.inclusive === false ? 'more than' : 'at least'} ${String(issue.minimum)}`;
    }
    case 'too_big':
      return `it takes at most ${String(issue.maximum)}`;
    default:
      return undefined;
  }
};

export interface FirstIssue {
  /** Where it stands: keys from the top. */
  readonly path: readonly PropertyKey[];
  /** What is wrong there, without the place. */
  readonly what: string;
}

/** The first issue of a failed parse. `known` says where the keys stand that there are. */
export function firstIssue(error: z.ZodError, known: string): FirstIssue {
  const issue = error.issues[0];
  if (issue === undefined) return { path: [], what: 'it does not fit the schema' };
  if (issue.code === 'unrecognized_keys') {
    return { path: [...issue.path, issue.keys[0] ?? ''], what: `unknown key; known here are ${known}` };
  }
  return { path: issue.path, what: issue.message };
}

/** `key: what is wrong`, with the key's path. */
export const issueText = ({ path, what }: FirstIssue): string =>
  `${path.map(String).join('.') || 'the file'}: ${what}`;
