// The next reply of a known-rate model: a fold over the conversation's own messages, so that any server gives the same.
import type { Move } from './moves.ts';
import type { Said } from './tokens.ts';
import { textOf, type Spoken, type SpokenCall } from './tool-calls.ts';
import { sentinelOf } from './typing.ts';

interface Place {
  readonly at: number;
  /** Looks at the screen since the last move that typed something. */
  readonly looks: number;
}

const reply = (plan: string, rest: object): string =>
  JSON.stringify({ analysis: `The terminal shows how far I am.`, plan, ...rest });

/** Puts a move into the form of a scaffold. `looks`: at the screen, since something was typed. */
export type Speech = (move: Move, looks: number) => Spoken;

const pauseSec = (looks: number): number => Math.min(2, 0.2 * 2 ** looks);

/** Terminus-2's JSON form. */
const terminus2Speech: Speech = (move, looks) => ({ content: jsonOf(move, looks), calls: [] });

function jsonOf(move: Move, looks: number): string {
  switch (move.kind) {
    case 'slip':
      return move.text;
    case 'act':
      return reply(move.thought, { commands: move.keys });
    case 'await':
      return reply('I wait for it to end.', {
        commands: [{ keystrokes: '', duration: pauseSec(looks) }],
      });
    case 'linger':
      return reply('I wait for it to end.', { commands: [{ keystrokes: '', duration: move.seconds }] });
    case 'finish':
      return reply(move.thought, { commands: [], task_complete: true });
  }
}

/** As long as any call may name. */
const longestCallSec = 3_600;

const bashCall = (command: string): SpokenCall => ({
  name: 'bash',
  arguments: JSON.stringify({ command, timeout_sec: longestCallSec }),
});

/**
 * Native calls of the tool bash: what is typed at once is called at once, in its order. It ends with the tool submit
 * where there is one, else with words.
 */
const toolSpeech =
  (tools: readonly string[]): Speech =>
  (move, looks) => {
    switch (move.kind) {
      case 'slip': {
        const broken = '{"command": "ls';
        return { content: '', calls: [{ name: 'bash', arguments: broken }] };
      }
      case 'act':
        return { content: move.thought, calls: move.keys.map(({ keystrokes }) => bashCall(keystrokes)) };
      case 'await':
        return { content: '', calls: [bashCall(`sleep ${pauseSec(looks)}`)] };
      case 'linger':
        return { content: '', calls: [bashCall(`sleep ${move.seconds}`)] };
      case 'finish':
        return tools.includes('submit')
          ? { content: move.thought, calls: [{ name: 'submit', arguments: '{}' }] }
          : { content: move.thought, calls: [] };
    }
  };

/** How a model speaks where a request offers these tools. */
export const speechOf = (tools: readonly string[]): Speech =>
  tools.includes('bash') ? toolSpeech(tools) : terminus2Speech;

/** Where the model stands once `observation` has answered its move. */
function advance(moves: readonly Move[], { at, looks }: Place, observation: string, tag: string): Place {
  const seen = observation.includes(sentinelOf(tag));
  switch (moves[at]?.kind) {
    case 'act':
      return seen && moves[at + 1]?.kind === 'await' ? { at: at + 2, looks: 0 } : { at: at + 1, looks: 0 };
    case 'slip':
      return { at: at + 1, looks: 0 };
    case 'await':
      return seen ? { at: at + 1, looks: 0 } : { at, looks: looks + 1 };
    case 'linger':
      return { at, looks: looks + 1 };
    case 'finish':
    case undefined:
      return { at, looks };
  }
}

/**
 * The reply to a conversation. What the scaffold says between two replies is read for the sentinel alone, so its
 * words are free. A reply that came back cut (`max_tokens`) is said again.
 */
export function nextSpoken(
  moves: readonly Move[],
  messages: readonly Said[],
  { tag, speech }: { readonly tag: string; readonly speech: Speech },
): Spoken {
  let place: Place = { at: 0, looks: 0 };
  const current = (): Spoken => {
    const move = moves[place.at];
    if (move === undefined)
      throw new RangeError('a conversation has at least one move, and ends with one that stays');
    return speech(move, place.looks);
  };
  messages.forEach((message, index) => {
    if (message.role !== 'assistant') return;
    const next = messages.findIndex(({ role }, at) => at > index && role === 'assistant');
    const observation = messages
      .slice(index + 1, next === -1 ? undefined : next)
      .map(({ content }) => content)
      .join('\n');
    const meant = textOf(current());
    const cut = message.content.length < meant.length && meant.startsWith(message.content);
    if (!cut) place = advance(moves, place, observation, tag);
  });
  return current();
}

/** The same as Terminus-2 reads it. */
export const nextReply = (moves: readonly Move[], messages: readonly Said[], tag: string): string =>
  nextSpoken(moves, messages, { tag, speech: terminus2Speech }).content;
