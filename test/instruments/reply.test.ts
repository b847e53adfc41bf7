// Conversations of known-rate models, driven by a screen made up here: what is said follows from the messages alone.
import { describe, expect, it } from 'vitest';
import { failurePlanOf, intentOf, type Intent } from '../../instruments/known-rate/intent.ts';
import type { KnownTask } from '../../instruments/known-rate/known-task.ts';
import { movesOf, type Move } from '../../instruments/known-rate/moves.ts';
import { nextReply } from '../../instruments/known-rate/reply.ts';
import type { Said } from '../../instruments/known-rate/tokens.ts';
import { sentinelOf } from '../../instruments/known-rate/typing.ts';
import { nearTask, plainTask, stepsTask } from './known-data.ts';

const tag = 'aa11bb22cc33';

interface Spoken {
  readonly commands: { readonly keystrokes: string; readonly duration: number }[];
  readonly task_complete?: boolean;
}

const read = (reply: string): Spoken | null => {
  try {
    return JSON.parse(reply) as Spoken;
  } catch {
    return null;
  }
};

/** Attempts of which the intent satisfies a condition; the first is taken. */
function intentWhere(task: KnownTask, rate: 0 | 1, wanted: (intent: Intent) => boolean): Intent {
  for (let attempt = 1; attempt < 1000; attempt += 1) {
    const intent = intentOf(1, `known-rate-${rate}`, task.slug, attempt);
    if (wanted(intent)) return intent;
  }
  throw new Error('no such intent in 1000 attempts');
}

const failing = (task: KnownTask, way: string, step = 0): Intent =>
  intentWhere(task, 0, (intent) => {
    const plan = failurePlanOf(intent, task);
    return plan?.way === way && plan.step === step;
  });

const movesIn = (task: KnownTask, intent: Intent, step = 0): Move[] =>
  movesOf(intent, failurePlanOf(intent, task), { task, step, tag });

/** Talks until completion was said twice in a row or the turns are used up; `screen` answers each reply. */
function talk(moves: readonly Move[], screen: (reply: string, turn: number) => string, turns = 12): string[] {
  const messages: Said[] = [{ role: 'user', content: 'the task, in the scaffold’s words' }];
  const replies: string[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const reply = nextReply(moves, messages, tag);
    expect(nextReply(moves, structuredClone(messages), tag)).toBe(reply);
    replies.push(reply);
    if (replies.slice(-2).filter((said) => read(said)?.task_complete).length === 2) break;
    messages.push({ role: 'assistant', content: reply }, { role: 'user', content: screen(reply, turn) });
  }
  return replies;
}

const ran = (reply: string): boolean => reply.includes('solve.sh');
const quick = (reply: string): string => (ran(reply) ? `$ ...\n${sentinelOf(tag)} 0\n$` : '$');
const finished = (replies: readonly string[]): boolean =>
  replies.slice(-2).every((said) => read(said)?.task_complete === true);

describe('a known-rate model that means to solve', () => {
  const intent = intentWhere(plainTask, 1, ({ slips }) => !slips);
  const moves = movesIn(plainTask, intent);

  it('looks, writes and runs the solution, completes and confirms', () => {
    const replies = talk(moves, quick);
    expect(replies.map((said) => read(said)?.commands[0]?.keystrokes.slice(0, 5))).toEqual([
      'pwd; ',
      'mkdir',
      undefined,
      undefined,
    ]);
    expect(finished(replies)).toBe(true);
  });

  it('waits, longer each time up to two seconds, until the screen shows the sentinel', () => {
    const replies = talk(moves, (_, turn) => (turn === 6 ? `${sentinelOf(tag)} 0` : 'busy'));
    const waits = replies.slice(2, -2).map((said) => read(said)?.commands);
    expect(waits.flat().map((wait) => wait?.duration)).toEqual([0.2, 0.4, 0.8, 1.6, 2]);
    expect(finished(replies)).toBe(true);
  });

  it('is not misled by its own typing on the screen, nor by another step’s sentinel', () => {
    const replies = talk(moves, (reply) => `${reply}\n${sentinelOf('000000000000')} 0`);
    expect(replies.some((said) => read(said)?.task_complete)).toBe(false);
  });

  it('is not misled by a sentinel that was on the screen before it ran anything', () => {
    const moved = talk(moves, (_, turn) => (turn === 0 ? sentinelOf(tag) : 'busy'));
    expect(moved.some((said) => read(said)?.task_complete)).toBe(false);
  });

  it('says a reply again that came back cut', () => {
    const first = nextReply(moves, [{ role: 'user', content: 'go' }], tag);
    const again = nextReply(
      moves,
      [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: first.slice(0, 20) },
        { role: 'user', content: 'too long' },
      ],
      tag,
    );
    expect(again).toBe(first);
  });

  it('sometimes breaks the protocol once, and recovers', () => {
    const slipping = intentWhere(plainTask, 1, ({ slips }) => slips);
    const replies = talk(movesIn(plainTask, slipping), quick);
    expect(replies.filter((said) => read(said) === null)).toHaveLength(1);
    expect(replies.some(ran)).toBe(true);
    expect(finished(replies)).toBe(true);
  });
});

describe('a known-rate model that means to fail', () => {
  it.each(['wrong-file', 'gives-up-early', 'breaks-protocol-once'])('never runs the solution: %s', (way) => {
    const replies = talk(movesIn(plainTask, failing(plainTask, way)), quick);
    expect(replies.some(ran)).toBe(false);
    expect(finished(replies)).toBe(true);
    const broken = replies.filter((said) => read(said) === null).length;
    expect(broken).toBe(way === 'breaks-protocol-once' ? 1 : 0);
  });

  it('never finishes: waits for ever, a quarter of its clock at a time', () => {
    const replies = talk(movesIn(plainTask, failing(plainTask, 'never-finishes')), quick);
    expect(replies).toHaveLength(12);
    expect(read(replies.at(-1) ?? '')?.commands).toEqual([{ keystrokes: '', duration: 5 }]);
  });

  it.each([
    ['eats-memory', '/dev/shm/'],
    ['fills-disk', 'head -c 300M'],
  ] as const)('passes a limit of its sandbox, and waits for its end: %s', (way, command) => {
    const intent = failing(plainTask, 'wrong-file');
    const plan = failurePlanOf(intent, plainTask, way);
    const replies = talk(movesOf(intent, plan, { task: plainTask, step: 0, tag }), quick);
    expect(replies.some(ran)).toBe(false);
    expect(replies.filter((said) => said.includes(command))).toHaveLength(1);
    expect(replies).toHaveLength(12);
  });

  it('fails one assertion: runs the near miss after the solution', () => {
    const replies = talk(movesIn(nearTask, failing(nearTask, 'one-assertion')), quick);
    const run = replies.find(ran) ?? '';
    expect(run.lastIndexOf('near-miss.sh')).toBeGreaterThan(run.lastIndexOf('solve.sh'));
    expect(finished(replies)).toBe(true);
  });

  it('solves the steps before the one it fails, and does nothing in those after it', () => {
    const intent = failing(stepsTask, 'wrong-file', 1);
    const solves = [0, 1, 2].map((step) => talk(movesIn(stepsTask, intent, step), quick).some(ran));
    expect(solves).toEqual([true, false, false]);
  });
});
