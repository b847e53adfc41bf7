// Everything that the scaffold says to the model, in our own words under the reference's contract.
import type { Terminus2Options } from './options.ts';

/** The first message, with {instruction} and {terminal_state} where they belong. */
export const builtInTemplate = `You are an assistant that works in a Linux terminal, inside a tmux session. You get a task and what the terminal shows. In each reply you say which keystrokes are to be typed next; they are typed, and you are shown what the terminal shows then. Go on until the task is done.

Reply with one JSON object and nothing else:

{
  "analysis": "What the terminal shows, what has been done, and what is still missing.",
  "plan": "What you do next, and what you expect each command to do.",
  "commands": [
    {"keystrokes": "ls -la\\n", "duration": 0.1},
    {"keystrokes": "cd src && make\\n", "duration": 15.0}
  ],
  "task_complete": false
}

Required keys, in this order:
- "analysis": a string.
- "plan": a string.
- "commands": a list, in the order of typing. An empty list types nothing and shows you the terminal again.
Optional key:
- "task_complete": true once the whole task is done; false if left out.

A command has two keys:
- "keystrokes" (required): the exact text to type. It is typed literally, so end a shell command with \\n or it is not run. A command that is exactly the name of a key of tmux is that key: C-c for Ctrl-C, C-d for Ctrl-D, Escape, Up; give such a key a command of its own, without \\n.
- "duration" (optional): how many seconds to wait, counted from the typing, before the next command is typed or the terminal is shown; 1.0 if left out, at most 60. Nothing tells when a command has ended: take a short wait (0.1) for what is instant, such as cd, ls, echo or cat, a second or so for most commands, and more for builds and long runs. Rather wait too little than too much: to wait on, send a command with empty keystrokes ("") and a duration.

Mind in the JSON: strings take double quotes; write a line break inside a string as \\n, a double quote as \\", a backslash as \\\\.

The task:
{instruction}

What the terminal shows now:
{terminal_state}
`;

/** The template filled in, each place once over: what is filled in is not looked at again. */
export function firstMessage(options: Terminus2Options, instruction: string, terminalState: string): string {
  const values: Readonly<Record<string, string>> = { instruction, terminal_state: terminalState };
  return (options.prompt?.text ?? builtInTemplate).replace(
    /\{(instruction|terminal_state)\}/g,
    (place, name: string) => values[name] ?? place,
  );
}

const list = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n');

/** After a reply that could not be read: nothing of it was done. */
export function errorMessage(error: string, warnings: readonly string[]): string {
  const warned = warnings.length === 0 ? '' : `\nWARNINGS:\n${list(warnings)}`;
  return `Your last reply could not be read, and nothing of it was done.\nERROR: ${error}${warned}\n\nPlease send it again as one valid JSON object with "analysis", "plan" and "commands".`;
}

/** After commands were typed: what the terminal shows, with what deserved a warning in front. */
export function observationMessage(terminalState: string, warnings: readonly string[]): string {
  if (warnings.length === 0) return terminalState;
  return `WARNINGS about your last reply:\n${list(warnings)}\n\n${terminalState}`;
}

/** After the first "task_complete": true. */
export function confirmationMessage(instruction: string, terminalState: string): string {
  return `You said that the task is complete. This was the task:\n${instruction}\n\n${terminalState}\n\nAre you sure? Once you confirm, your work is graded and nothing can be mended any more. If everything is done, send "task_complete": true once more in a reply of the same form; if something is missing, go on with commands and without it.`;
}

/** After a reply that was cut by the limit of its length. */
export const lengthMessage =
  'Your last reply was longer than one reply may be and was cut off; nothing of it was done. Please send a shorter one: one valid JSON object with fewer or smaller commands. Write a long file in several replies.';
