// The corpus of good and broken XML replies, with what each must do by our rules and by the reference's.
import type { ReplyCase } from './replies.ts';

const head = '<analysis>a</analysis>\n<plan>p</plan>\n';
const whole = (commands: string, more = ''): string =>
  `<response>\n${head}<commands>\n${commands}\n</commands>\n${more}</response>`;
const ls = '<keystrokes duration="0.1">ls\n</keystrokes>';
const good = whole(ls);
const done = '<task_complete>true</task_complete>\n';
const ran = { run: 'ls\n@0.1' } as const;
const before = { run: 'ls\n@0.1', warns: 'text before' } as const;
const after = { run: 'ls\n@0.1', warns: 'text after' } as const;
const nothing = { error: 'no <response>' } as const;
const lacks = { error: 'lacks <commands>' } as const;
const typed = (attributes: string, keystrokes = 'ls\n'): string =>
  whole(`<keystrokes${attributes}>${keystrokes}</keystrokes>`);

export const xmlReplies: readonly ReplyCase[] = [
  // Whole replies
  { name: 'a plain response', reply: good, ours: ran },
  {
    name: 'two commands in order',
    reply: whole(`${ls}\n<keystrokes duration="2">pwd\n</keystrokes>`),
    ours: { run: 'ls\n@0.1|pwd\n@2' },
  },
  { name: 'a key of tmux', reply: typed(' duration="0"', 'C-c'), ours: { run: 'C-c@0' } },
  { name: 'empty keystrokes', reply: typed(' duration="10"', ''), ours: { run: '@10' } },
  {
    name: 'a shell script of several lines',
    reply: typed(' duration="1"', "cat > x <<'E'\na < b && c > d\nE\n"),
    ours: { run: "cat > x <<'E'\na < b && c > d\nE\n@1" },
  },
  {
    name: 'quotes, backslashes and characters beyond ASCII',
    reply: typed(' duration="1"', 'echo "é 中 🦀\\n\\t"\n'),
    ours: { run: 'echo "é 中 🦀\\n\\t"\n@1' },
  },
  {
    name: 'HTML in keystrokes',
    reply: typed(' duration="1"', 'echo "<b>x</b>" > x.html\n'),
    ours: { run: 'echo "<b>x</b>" > x.html\n@1' },
  },
  {
    name: 'think tags in keystrokes',
    reply: typed(' duration="1"', 'echo "<think>x</think>"\n'),
    ours: { run: 'echo "<think>x</think>"\n@1' },
  },
  {
    name: 'C60 unbalanced braces in keystrokes',
    reply: typed(' duration="1"', 'mkdir -p t/{a,b\n'),
    ours: { run: 'mkdir -p t/{a,b\n@1' },
  },
  {
    name: 'a JSON reply in keystrokes',
    reply: typed(' duration="1"', 'echo \'{"analysis": 1}\'\n'),
    ours: { run: 'echo \'{"analysis": 1}\'\n@1' },
  },

  // Completion
  { name: 'task_complete true', reply: whole('', done), ours: { run: '!' } },
  { name: 'task_complete true with commands', reply: whole(ls, done), ours: { run: 'ls\n@0.1!' } },
  {
    name: 'task_complete in capitals and with white space',
    reply: whole('', '<Task_Complete> TRUE\n</TASK_COMPLETE>'),
    ours: { run: '!' },
  },
  { name: 'task_complete false', reply: whole(ls, '<task_complete>false</task_complete>'), ours: ran },
  { name: 'task_complete 1', reply: whole(ls, '<task_complete>1</task_complete>'), ours: ran },
  { name: 'an empty task_complete', reply: whole(ls, '<task_complete/>'), ours: ran },
  {
    name: 'task_complete true without commands',
    reply: `<response>${head}${done}</response>`,
    ours: { run: '!' },
  },
  {
    name: 'task_complete true with a faulty command',
    reply: whole(`${ls}<keystrokes duration="1">ls`, done),
    ours: { run: '!', warns: 'no command was run' },
  },
  {
    name: 'task_complete true after the response',
    reply: `${good}\n${done}`,
    ours: after,
  },
  {
    name: 'a task_complete tag in keystrokes',
    reply: typed(' duration="1"', 'echo "<task_complete>true</task_complete>"\n'),
    ours: { run: 'echo "<task_complete>true</task_complete>"\n@1' },
    strict: { run: 'echo "<task_complete>true</task_complete>"\n@1!' },
  },

  // Durations
  { name: 'no duration', reply: typed(''), ours: { run: 'ls\n@1', warns: 'has no duration' } },
  {
    name: 'an unquoted duration',
    reply: typed(' duration=5'),
    ours: { run: 'ls\n@1', warns: 'needs quotes' },
  },
  { name: 'a duration in single quotes', reply: typed(" duration='5'"), ours: { run: 'ls\n@5' } },
  {
    name: 'a duration in words',
    reply: typed(' duration="five"'),
    ours: { run: 'ls\n@1', warns: 'no number' },
  },
  { name: 'an empty duration', reply: typed(' duration=""'), ours: { run: 'ls\n@1', warns: 'no number' } },
  {
    name: 'a hexadecimal duration',
    reply: typed(' duration="0x10"'),
    ours: { run: 'ls\n@1', warns: 'no number' },
  },
  { name: 'a duration with an exponent', reply: typed(' duration="1e1"'), ours: { run: 'ls\n@10' } },
  { name: 'a duration over the cap', reply: typed(' duration="600"'), ours: { run: 'ls\n@60' } },
  { name: 'an infinite duration', reply: typed(' duration="inf"'), ours: { run: 'ls\n@60' } },
  {
    name: 'a negative duration',
    reply: typed(' duration="-1"'),
    ours: { error: '"duration" must be' },
    strict: { run: 'ls\n@0' },
  },
  {
    name: 'a NaN duration',
    reply: typed(' duration="NaN"'),
    ours: { error: '"duration" must be' },
    strict: { run: 'ls\n@0' },
  },
  {
    name: 'a boolean duration',
    reply: typed(' duration="true"'),
    ours: { run: 'ls\n@1', warns: 'no number' },
  },

  // Things that only deserve a warning
  {
    name: 'an unknown attribute',
    reply: typed(' duration="1" why="x"'),
    ours: { run: 'ls\n@1', warns: 'unknown attributes: why="x"' },
  },
  {
    name: 'no line break before another command',
    reply: whole(`<keystrokes duration="1">ls</keystrokes>${ls}`),
    ours: { run: 'ls@1|ls\n@0.1', warns: 'does not end with a line break' },
  },
  {
    name: 'entities, which are typed as they stand',
    reply: typed(' duration="1"', 'a &lt; b &amp;&amp; c\n'),
    ours: { run: 'a &lt; b &amp;&amp; c\n@1', warns: 'entities' },
  },
  {
    name: 'a shell ampersand, which is no entity',
    reply: typed(' duration="1"', 'a & b; c\n'),
    ours: { run: 'a & b; c\n@1' },
  },
  {
    name: 'sections in another order',
    reply: `<response><plan>p</plan><analysis>a</analysis><commands>${ls}</commands></response>`,
    ours: { run: 'ls\n@0.1', warns: 'in this order' },
  },
  {
    name: 'no analysis',
    reply: `<response><plan>p</plan><commands>${ls}</commands></response>`,
    ours: { run: 'ls\n@0.1', warns: '<analysis> is missing' },
  },
  { name: 'empty commands', reply: whole(''), ours: { run: '', warns: '<commands> is empty' } },
  {
    name: 'commands that close themselves',
    reply: `<response>${head}<commands/></response>`,
    ours: { run: '', warns: '<commands> is empty' },
  },
  {
    name: 'bare text in commands',
    reply: whole('ls -la'),
    ours: { run: '', warns: 'something else than <keystrokes>' },
  },
  { name: 'C59 a code fence', reply: `\`\`\`xml\n${good}\n\`\`\``, ours: before },
  { name: 'C59 prose in front', reply: `I look around first.\n${good}`, ours: before },
  { name: 'C60 prose behind', reply: `${good}\nThat is all.`, ours: after },
  {
    name: 'a response that is never closed',
    reply: good.replace('</response>', ''),
    ours: { run: 'ls\n@0.1', warns: '</response> is missing' },
  },
  {
    name: 'C59 two responses',
    reply: `${good}\n${typed(' duration="1"', 'rm x\n')}`,
    ours: after,
  },

  // Thinking
  {
    name: 'C59 a think block with a whole reply in it',
    reply: `<think>${typed(' duration="1"', 'rm x\n')}</think>${good}`,
    ours: ran,
    strict: { run: 'rm x\n@1', warns: 'text before' },
  },
  {
    name: 'a think block whose start the template wrote',
    reply: `I could send ${typed(' duration="1"', 'rm x\n')} now.</think>${good}`,
    ours: ran,
    strict: { run: 'rm x\n@1', warns: 'text before' },
  },
  {
    name: 'a think block in prose alone',
    reply: `<think>hm</think>${good}`,
    ours: ran,
    strict: before,
  },
  { name: 'a think block that never ends', reply: `<think>let me see ${good}`, ours: before },
  {
    name: 'nothing but thinking',
    reply: `<think>${good}</think>`,
    ours: nothing,
    strict: { run: 'ls\n@0.1', warns: 'text before' },
  },

  // The response taken is the one that is whole
  {
    name: 'C59 an empty response in front',
    reply: `I send a <response></response>: ${good}`,
    ours: before,
    strict: lacks,
  },
  {
    name: 'a draft that lacks its commands, then a whole one',
    reply: `<response>${head}</response>\n${good}`,
    ours: before,
    strict: lacks,
  },

  // Broken replies
  { name: 'nothing', reply: '', ours: nothing },
  { name: 'white space', reply: ' \n', ours: nothing },
  { name: 'prose alone', reply: 'I am done with the task.', ours: nothing },
  {
    name: 'a JSON object',
    reply: '{"analysis": "a", "plan": "p", "commands": []}',
    ours: nothing,
  },
  { name: 'sections without a response', reply: `${head}<commands>${ls}</commands>`, ours: nothing },
  { name: 'no commands', reply: `<response>${head}</response>`, ours: lacks },
  {
    name: 'commands that are never closed',
    reply: good.replace('</commands>', ''),
    ours: lacks,
  },
  {
    name: 'keystrokes that are never closed',
    reply: whole('<keystrokes duration="1">ls\n'),
    ours: { error: 'never closed' },
  },
  { name: 'a response cut in its keystrokes', reply: good.slice(0, 80), ours: lacks },
  { name: 'tags in capitals', reply: good.toUpperCase(), ours: nothing },
  {
    name: 'a call of a tool in place of the response',
    reply: '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>',
    ours: nothing,
  },
];
