// The turns of Terminus-2: ask, read, type, look; until completion is confirmed or a bound is met.
import type { EpisodeEnd, EpisodeTools, TerminalAction, TrajectoryStep } from '../../domain/ports.ts';
import { Chat, type Reply } from './chat.ts';
import { describeObservation } from './observation.ts';
import type { Terminus2Options } from './options.ts';
import { parseReply, type ParseRules } from './parse-reply.ts';
import { confirmationMessage, errorMessage, firstMessage, observationMessage } from './prompt.ts';
import type { ParsedReply, ReplyCommand } from './reply-object.ts';

const terminalLost: EpisodeEnd = { ending: 'terminal-lost', detail: 'the terminal session has ended' };

const actionOf = ({ keystrokes, durationSec }: ReplyCommand): TerminalAction => ({
  keystrokes,
  durationMs: Math.round(durationSec * 1000),
});

type GoodReply = Extract<ParsedReply, { ok: true }>;

/** The step of a reply that was read: its words, and what it asked for as tool calls. */
function stepOf(parsed: GoodReply, reply: Reply, turn: number, call: number): TrajectoryStep {
  const words = [
    parsed.analysis === '' ? [] : [`Analysis: ${parsed.analysis}`],
    parsed.plan === '' ? [] : [`Plan: ${parsed.plan}`],
  ].flat();
  const toolCalls = parsed.commands.map(({ keystrokes, durationSec }, index) => ({
    id: `call_${turn}_${index + 1}`,
    name: 'bash_command',
    arguments: { keystrokes, duration: durationSec },
  }));
  const completion = { id: `call_${turn}_task_complete`, name: 'mark_task_complete', arguments: {} };
  return {
    source: 'agent',
    message: words.join('\n'),
    ...(reply.reasoning === null ? {} : { reasoning: reply.reasoning }),
    toolCalls: parsed.complete ? [...toolCalls, completion] : toolCalls,
    call,
  };
}

/** Runs one episode over the two ports. Same answers and observations: same calls. */
export async function runTerminus2(
  instruction: string,
  options: Terminus2Options,
  tools: EpisodeTools,
): Promise<EpisodeEnd> {
  const rules: ParseRules = {
    thinkBlocks: options.think_blocks,
    objectChoice: options.object_choice,
    durations: options.durations,
  };
  const chat = new Chat(options, tools);
  const initial = await tools.terminal.act([]);
  if (!initial.alive) return terminalLost;
  let say = firstMessage(options, instruction, describeObservation(initial));
  tools.log({ source: 'user', message: say });

  let confirming = false;
  for (let turn = 0; turn < options.max_turns; turn += 1) {
    const asked = await chat.ask(say);
    if (asked.kind !== 'reply') return { ending: asked.kind, detail: asked.detail };
    const { reply, call } = asked;

    const parsed = parseReply(reply.text, rules);
    if (!parsed.ok) {
      say = errorMessage(parsed.error, parsed.warnings);
      const reasoning = reply.reasoning === null ? {} : { reasoning: reply.reasoning };
      tools.log({ source: 'agent', message: reply.text, ...reasoning, observation: say, call });
      continue;
    }

    const step = stepOf(parsed, reply, turn, call);
    const observation = await tools.terminal.act(parsed.commands.map(actionOf)).catch((error: unknown) => {
      tools.log(step); // the clock ran out, or the sandbox went: what was asked for is kept
      throw error;
    });
    const state = describeObservation(observation);
    const confirmed = parsed.complete && confirming;
    confirming = parsed.complete;
    say = parsed.complete
      ? confirmationMessage(instruction, state)
      : observationMessage(state, parsed.warnings);
    tools.log({ ...step, observation: confirmed || !observation.alive ? state : say });
    if (confirmed) return { ending: 'completed', detail: null };
    if (!observation.alive) return terminalLost;
  }
  return { ending: 'turn-limit', detail: `${options.max_turns} turns` };
}
