// Everything that the scaffold says to the model beside the instruction.
import type { PlainResult } from '../../domain/ports.ts';
import type { BashOptions } from './options.ts';

const work = `You work on a Linux machine through the tool bash, to do the task that the user gives you. Nobody answers questions: look at the machine, decide, and act.

Work in small steps: look first, do one thing, check what came of it. Test what you made before you say that it is done; what counts is the state of the machine at the end, and it is checked by a program that you do not see.`;

const ends = {
  answer:
    'When the whole task is done, reply with a short closing statement and no tool call. That ends the work: until then, every reply has to call the tool.',
  submit:
    'When the whole task is done, call the tool submit. That ends the work: until then, every reply has to call a tool.',
} as const;

export const systemPrompt = ({ prompt, finish }: BashOptions): string =>
  prompt?.text ?? `${work}\n\n${ends[finish]}`;

const goOn = {
  answer: 'Go on with the tool bash; when the whole task is done, say so in a reply without a call.',
  submit: 'Go on with the tool bash; when the whole task is done, call the tool submit.',
} as const;

/** What is said of a turn that called nothing. */
export function noCallMessage(finish: BashOptions['finish'], unread: boolean): string {
  const what = unread
    ? 'Your last reply holds a tool call that could not be read, and nothing was run.'
    : finish === 'submit'
      ? 'Your last reply called no tool.'
      : 'Your last reply was empty.';
  return `${what} ${goOn[finish]}`;
}

export const lengthMessage =
  'Your last reply was longer than one reply may be and was cut off; nothing of it was done. Please send a shorter one. Write a long file in several calls.';

export const submittedResult = 'The work is handed in.';
export const notRunResult = 'Not run: the work was handed in before it.';

/** The result of a command, as the model is shown it. */
export function commandResult({ exitCode, timedOut, output }: PlainResult, timeoutSec: number): string {
  const shown = output.trim() === '' ? '(no output)' : output.replace(/\n$/, '');
  if (timedOut) {
    return `${shown}\n[ended after ${timeoutSec} s, with all that it started; the shell is as it was before this call]`;
  }
  return exitCode === 0 ? shown : `${shown}\n[exit status ${exitCode}]`;
}

const longestQuote = 300;

/** The result of a call that could not be read: nothing of it was done. */
export function errorResult(error: string, written: string): string {
  const quoted =
    written.length > longestQuote ? `${Array.from(written).slice(0, longestQuote).join('')}…` : written;
  return `ERROR: ${error}. Nothing was run.\nThe arguments were: ${quoted === '' ? '(empty)' : quoted}`;
}
