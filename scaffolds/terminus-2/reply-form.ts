// What the model is told of the form of its replies, in our own words: one text a form.

export interface ReplyForm {
  /** The first message, with {instruction} and {terminal_state} where they belong. */
  readonly template: string;
  /** "Please send ...": one reply of this form, in a few words. */
  readonly one: string;
  /** What says that the task is done. */
  readonly complete: string;
}

const opening = `You are an assistant that works in a Linux terminal, inside a tmux session. You get a task and what the terminal shows. In each reply you say which keystrokes are to be typed next; they are typed, and you are shown what the terminal shows then. Go on until the task is done.`;

const keystrokesRule = (lineBreak: string): string =>
  `the exact text to type. It is typed literally, so end a shell command with ${lineBreak} or it is not run. A command that is exactly the name of a key of tmux is that key: C-c for Ctrl-C, C-d for Ctrl-D, Escape, Up; give such a key a command of its own, without ${lineBreak}.`;

const durationRule = (empty: string): string =>
  `how many seconds to wait, counted from the typing, before the next command is typed or the terminal is shown; 1.0 if left out, at most 60. Nothing tells when a command has ended: take a short wait (0.1) for what is instant, such as cd, ls, echo or cat, a second or so for most commands, and more for builds and long runs. Rather wait too little than too much: to wait on, send a command with empty keystrokes (${empty}) and a duration.`;

const closing = `The task:
{instruction}

What the terminal shows now:
{terminal_state}
`;

const jsonTemplate = `${opening}

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
- "keystrokes" (required): ${keystrokesRule('\\n')}
- "duration" (optional): ${durationRule('""')}

Mind in the JSON: strings take double quotes; write a line break inside a string as \\n, a double quote as \\", a backslash as \\\\.

${closing}`;

const xmlTemplate = `${opening}

Reply in this form and with nothing else:

<response>
<analysis>What the terminal shows, what has been done, and what is still missing.</analysis>
<plan>What you do next, and what you expect each command to do.</plan>
<commands>
<keystrokes duration="0.1">ls -la
</keystrokes>
<keystrokes duration="15.0">cd src && make
</keystrokes>
</commands>
<task_complete>false</task_complete>
</response>

Required, in this order:
- <analysis>: text.
- <plan>: text.
- <commands>: the keystrokes in the order of typing. Empty, it types nothing and shows you the terminal again.
Optional:
- <task_complete>: true once the whole task is done; false if left out.

Each <keystrokes> holds ${keystrokesRule('a line break')}
Its attribute duration, in quotes, says ${durationRule('<keystrokes duration="5.0"></keystrokes>')}

Mind that this is no real XML: everything between <keystrokes ...> and </keystrokes> is typed as it stands. Write < > & and quotes as such, and no entities (no &lt;).

${closing}`;

export const jsonForm: ReplyForm = {
  template: jsonTemplate,
  one: 'one valid JSON object with "analysis", "plan" and "commands"',
  complete: '"task_complete": true',
};

export const xmlForm: ReplyForm = {
  template: xmlTemplate,
  one: 'one <response> with <analysis>, <plan> and <commands>',
  complete: '<task_complete>true</task_complete>',
};
