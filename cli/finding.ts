// What doctor says of one part of what grading needs.
import { describeError } from './output.ts';

export interface Finding {
  readonly part: string;
  /** `lacks`: grading does not work without it. `note`: it does. */
  readonly state: 'has' | 'lacks' | 'note';
  readonly what: string;
  /** How to get it; null where it is there. */
  readonly mend: string | null;
}

export const has = (part: string, what: string): Finding => ({ part, state: 'has', what, mend: null });

/** A part that is there where `look` answers what there is of it, and lacking where it throws. */
export async function attempt(part: string, mend: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return has(part, await look());
  } catch (error) {
    return { part, state: 'lacks', what: describeError(error).line, mend };
  }
}
