// The corpus of good and broken replies, with what each must do by our rules and by the reference's.

/** `run`: the commands as `keystrokes@seconds`, `!` at the end where it says complete; `error`: a part of the error. */
export type Expected = { readonly run: string; readonly warns?: string } | { readonly error: string };

export interface ReplyCase {
  readonly name: string;
  readonly reply: string;
  readonly ours: Expected;
  /** Where the reference does something else. */
  readonly strict?: Expected;
}

const head = '"analysis": "a", "plan": "p"';
const whole = (commands: string, more = ''): string => `{${head}, "commands": [${commands}]${more}}`;
const ls = '{"keystrokes": "ls\\n", "duration": 0.1}';
const good = whole(ls);
const ran = { run: 'ls\n@0.1' } as const;
const before = { run: 'ls\n@0.1', warns: 'text before' } as const;
const after = { run: 'ls\n@0.1', warns: 'text after' } as const;
const broken = { error: 'not valid JSON' } as const;
const lacks = { error: 'lacks required keys' } as const;
const nothing = { error: 'no JSON object' } as const;
const open = { error: 'no complete JSON object' } as const;

export const replies: readonly ReplyCase[] = [
  // Whole replies
  { name: 'a plain object', reply: good, ours: ran },
  { name: 'an object over several lines', reply: JSON.stringify(JSON.parse(good), null, 2), ours: ran },
  { name: 'no commands', reply: whole(''), ours: { run: '' } },
  {
    name: 'two commands in order',
    reply: whole(`${ls}, {"keystrokes": "pwd\\n", "duration": 2}`),
    ours: { run: 'ls\n@0.1|pwd\n@2' },
  },
  { name: 'a key of tmux', reply: whole('{"keystrokes": "C-c", "duration": 0}'), ours: { run: 'C-c@0' } },
  { name: 'empty keystrokes', reply: whole('{"keystrokes": "", "duration": 10}'), ours: { run: '@10' } },
  {
    name: 'escapes and characters beyond ASCII',
    reply: whole('{"keystrokes": "echo \\"\\u00e9 中\\\\\\"\\n", "duration": 1}'),
    ours: { run: 'echo "é 中\\"\n@1' },
  },
  {
    name: 'C60 unbalanced braces in keystrokes',
    reply: whole('{"keystrokes": "mkdir -p t/{a,b\\n", "duration": 1}'),
    ours: { run: 'mkdir -p t/{a,b\n@1' },
  },
  {
    name: 'closing braces alone in keystrokes',
    reply: whole('{"keystrokes": "}}\\n", "duration": 1}'),
    ours: { run: '}}\n@1' },
  },
  {
    name: 'think tags in keystrokes',
    reply: whole('{"keystrokes": "echo \\"<think>x</think>\\"\\n", "duration": 1}'),
    ours: { run: 'echo "<think>x</think>"\n@1' },
  },
  {
    name: 'a JSON document in keystrokes',
    reply: whole('{"keystrokes": "echo \'{\\"analysis\\": 1}\'\\n", "duration": 1}'),
    ours: { run: 'echo \'{"analysis": 1}\'\n@1' },
  },

  // Completion
  { name: 'task_complete true', reply: whole('', ', "task_complete": true'), ours: { run: '!' } },
  {
    name: 'task_complete true with commands',
    reply: whole(ls, ', "task_complete": true'),
    ours: { run: 'ls\n@0.1!' },
  },
  { name: 'task_complete false', reply: whole(ls, ', "task_complete": false'), ours: ran },
  { name: 'task_complete null', reply: whole(ls, ', "task_complete": null'), ours: ran },
  { name: 'task_complete "True"', reply: whole('', ', "task_complete": "True"'), ours: { run: '!' } },
  { name: 'task_complete "1"', reply: whole('', ', "task_complete": "1"'), ours: { run: '!' } },
  { name: 'task_complete "yes"', reply: whole('', ', "task_complete": "yes"'), ours: { run: '!' } },
  { name: 'task_complete "done"', reply: whole(ls, ', "task_complete": "done"'), ours: ran },
  {
    name: 'task_complete 1',
    reply: whole('', ', "task_complete": 1'),
    ours: { run: '!', warns: 'task_complete' },
  },
  {
    name: 'task_complete 0',
    reply: whole(ls, ', "task_complete": 0'),
    ours: { run: 'ls\n@0.1', warns: 'task_complete' },
  },
  {
    name: 'task_complete []',
    reply: whole(ls, ', "task_complete": []'),
    ours: { run: 'ls\n@0.1', warns: 'task_complete' },
  },
  {
    name: 'task_complete true with a faulty command',
    reply: whole(`${ls}, {"duration": 1}`, ', "task_complete": true'),
    ours: { run: '!', warns: 'no command was run' },
  },
  { name: 'task_complete true without commands', reply: `{${head}, "task_complete": true}`, ours: lacks },

  // Durations
  {
    name: 'no duration',
    reply: whole('{"keystrokes": "ls\\n"}'),
    ours: { run: 'ls\n@1', warns: 'no "duration"' },
  },
  {
    name: 'a duration in words',
    reply: whole('{"keystrokes": "ls\\n", "duration": "5"}'),
    ours: { run: 'ls\n@1', warns: 'no number' },
  },
  {
    name: 'a duration of null',
    reply: whole('{"keystrokes": "ls\\n", "duration": null}'),
    ours: { run: 'ls\n@1', warns: 'no number' },
  },
  {
    name: 'a duration over the cap',
    reply: whole('{"keystrokes": "make\\n", "duration": 600}'),
    ours: { run: 'make\n@60' },
  },
  {
    name: 'a negative duration',
    reply: whole('{"keystrokes": "ls\\n", "duration": -1}'),
    ours: { error: '"duration" must be' },
    strict: { run: 'ls\n@0' },
  },
  {
    name: 'a boolean duration',
    reply: whole('{"keystrokes": "ls\\n", "duration": true}'),
    ours: { error: '"duration" must be' },
    strict: { run: 'ls\n@1' },
  },
  {
    name: 'a NaN duration',
    reply: whole('{"keystrokes": "NaN\\n", "duration": NaN}'),
    ours: { error: '"duration" must be' },
    strict: { run: 'NaN\n@0' },
  },
  {
    name: 'an infinite duration',
    reply: whole('{"keystrokes": "ls\\n", "duration": Infinity}'),
    ours: { run: 'ls\n@60' },
  },

  // Things that only deserve a warning
  {
    name: 'an unknown key of a command',
    reply: whole('{"keystrokes": "ls\\n", "duration": 1, "why": "x"}'),
    ours: { run: 'ls\n@1', warns: 'unknown keys: why' },
  },
  {
    name: 'no line break before another command',
    reply: whole(`{"keystrokes": "ls", "duration": 1}, ${ls}`),
    ours: { run: 'ls@1|ls\n@0.1', warns: 'does not end with a line break' },
  },
  {
    name: 'keys in another order',
    reply: `{"commands": [${ls}], "plan": "p", "analysis": "a"}`,
    ours: { run: 'ls\n@0.1', warns: 'in this order' },
  },
  {
    name: 'an analysis that is no string',
    reply: `{"analysis": ["x"], "plan": "p", "commands": [${ls}]}`,
    ours: { run: 'ls\n@0.1', warns: '"analysis" should be a string' },
  },
  { name: 'C59 a code fence', reply: `\`\`\`json\n${good}\n\`\`\``, ours: before },
  { name: 'C59 prose in front', reply: `I look around first.\n${good}`, ours: before },
  { name: 'C60 prose behind', reply: `${good}\nThat is all.`, ours: after },
  { name: 'C59 brackets in front', reply: `[SFC] ${good}`, ours: before },
  {
    name: 'C59 an odd quote in front',
    reply: `The 5" disk: ${good}`,
    ours: before,
    strict: { run: 'ls\n@0.1', warns: 'picked out' },
  },
  {
    name: 'C59 two objects',
    reply: `${good}\n${whole('{"keystrokes": "rm x\\n", "duration": 1}')}`,
    ours: after,
  },

  // Thinking
  {
    name: 'C59 a think block with an object in it',
    reply: `<think>{"a":1}</think>${good}`,
    ours: ran,
    strict: lacks,
  },
  {
    name: 'C59 a think block with a whole reply in it',
    reply: `<think>${whole('{"keystrokes": "rm x\\n", "duration": 1}')}</think>${good}`,
    ours: ran,
    strict: { run: 'rm x\n@1', warns: 'text before' },
  },
  {
    name: 'a think block whose start the template wrote',
    reply: `I could send ${whole('')} now.</think>${good}`,
    ours: ran,
    strict: { run: '', warns: 'text before' },
  },
  {
    name: 'two think blocks and prose between',
    reply: `<think>{</think>Now <think>}</think>${good}`,
    ours: before,
    strict: { run: 'ls\n@0.1', warns: 'picked out' },
  },
  { name: 'a think block that never ends', reply: `<think>let me see ${good}`, ours: before },
  { name: 'nothing but thinking', reply: '<think>{"a": 1}</think>', ours: nothing, strict: lacks },

  // The object taken is the one that validates
  { name: 'C59 empty braces in front', reply: `Use {} here. ${good}`, ours: before, strict: lacks },
  {
    name: 'C59 braces of a shell in front',
    reply: `Use t/{a,b} here. ${good}`,
    ours: before,
    strict: { run: 'ls\n@0.1', warns: 'picked out' },
  },
  {
    name: 'an object inside another',
    reply: `{"response": ${good}}`,
    ours: before,
    strict: { run: 'ls\n@0.1', warns: 'picked out' },
  },
  {
    name: 'a draft that lacks a key, then a whole one',
    reply: `{"analysis": "draft"}\n${good}`,
    ours: before,
    strict: lacks,
  },
  {
    name: 'an opening brace in front',
    reply: `Set { first. ${good}`,
    ours: before,
    strict: { run: 'ls\n@0.1', warns: 'picked out' },
  },

  // Repairs
  {
    name: 'one closing brace missing',
    reply: good.slice(0, -1),
    ours: { run: 'ls\n@0.1', warns: 'closing brace' },
  },
  { name: 'a closing brace missing and prose behind', reply: `${good.slice(0, -1)}\nok`, ours: open },

  // Broken replies
  { name: 'nothing', reply: '', ours: nothing },
  { name: 'white space', reply: ' \n', ours: nothing },
  { name: 'prose alone', reply: 'I am done with the task.', ours: nothing },
  { name: 'a list', reply: `[${ls}]`, ours: lacks },
  { name: 'C59 a missing bracket', reply: `{${head}, "commands": [${ls}}`, ours: broken },
  { name: 'C59 curly quotes', reply: good.replaceAll('"', '”'), ours: broken },
  {
    name: 'single quotes',
    reply: "{'analysis': 'a', 'plan': 'p', 'commands': []}",
    ours: { error: 'single quote' },
  },
  {
    name: 'a raw line break in a string',
    reply: whole('{"keystrokes": "ls\n", "duration": 1}'),
    ours: { error: 'raw line break' },
  },
  { name: 'a trailing comma', reply: whole(`${ls},`), ours: broken },
  { name: 'an object cut in a string', reply: good.slice(0, 50), ours: open },
  { name: 'no plan', reply: `{"analysis": "a", "commands": []}`, ours: { error: 'keys: plan' } },
  {
    name: 'commands that are no list',
    reply: `{${head}, "commands": "ls"}`,
    ours: { error: '"commands" must be a list' },
  },
  {
    name: 'a command that is no object',
    reply: whole('"ls"'),
    ours: { error: 'command 1 must be an object' },
  },
  {
    name: 'a command that is a list',
    reply: whole('["ls"]'),
    ours: { error: 'command 1 must be an object' },
  },
  {
    name: 'a command without keystrokes',
    reply: whole(`${ls}, {"duration": 1}`),
    ours: { error: 'command 2 lacks "keystrokes"' },
  },
  {
    name: 'keystrokes that are no string',
    reply: whole('{"keystrokes": 5}'),
    ours: { error: '"keystrokes" must be a string' },
  },
  {
    name: 'a call of a tool in place of the object',
    reply: '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>',
    ours: lacks,
  },
];
