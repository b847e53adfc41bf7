// What the scaffold says to the model turn by turn, in our own words under the reference's contract.
import type { Terminus2Options } from './options.ts';
import type { ReplyForm } from './reply-form.ts';

/** The template filled in, each place once over: what is filled in is not looked at again. */
export function firstMessage(
  { prompt }: Pick<Terminus2Options, 'prompt'>,
  form: ReplyForm,
  instruction: string,
  terminalState: string,
): string {
  const values: Readonly<Record<string, string>> = { instruction, terminal_state: terminalState };
  return (prompt?.text ?? form.template).replace(
    /\{(instruction|terminal_state)\}/g,
    (place, name: string) => values[name] ?? place,
  );
}

const list = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n');

/** After a reply that could not be read: nothing of it was done. */
export function errorMessage(form: ReplyForm, error: string, warnings: readonly string[]): string {
  const warned = warnings.length === 0 ? '' : `\nWARNINGS:\n${list(warnings)}`;
  return `Your last reply could not be read, and nothing of it was done.\nERROR: ${error}${warned}\n\nPlease send it again as ${form.one}.`;
}

/** After commands were typed: what the terminal shows, with what deserved a warning in front. */
export function observationMessage(terminalState: string, warnings: readonly string[]): string {
  if (warnings.length === 0) return terminalState;
  return `WARNINGS about your last reply:\n${list(warnings)}\n\n${terminalState}`;
}

/** After the first word that the task is complete. */
export function confirmationMessage(form: ReplyForm, instruction: string, terminalState: string): string {
  return `You said that the task is complete. This was the task:\n${instruction}\n\n${terminalState}\n\nAre you sure? Once you confirm, your work is graded and nothing can be mended any more. If everything is done, send ${form.complete} once more in a reply of the same form; if something is missing, go on with commands and without it.`;
}

/** After a reply that was cut by the limit of its length. */
export const lengthMessage = (form: ReplyForm): string =>
  `Your last reply was longer than one reply may be and was cut off; nothing of it was done. Please send a shorter one: ${form.one}, with fewer or smaller commands. Write a long file in several replies.`;
