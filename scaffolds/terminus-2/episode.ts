// The turns of Terminus-2: ask, read, type, look; until completion is confirmed or a bound is met.
import type { EpisodeEnd, EpisodeTools, TerminalAction, TrajectoryStep } from '../../domain/ports.ts';
import { Chat, type Reply } from './chat.ts';
import type { ParsedReply, ReplyCommand } from './commands.ts';
import { ContextGauge } from './context-gauge.ts';
import { describeObservation } from './observation.ts';
import type { Terminus2Options } from './options.ts';
import { confirmationMessage, errorMessage, firstMessage, observationMessage } from './prompt.ts';
import { protocolOf } from './protocol.ts';
import { terminalLost, Turns } from './turns.ts';

const actionOf = ({ keystrokes, durationSec }: ReplyCommand): TerminalAction => ({
  keystrokes,
  durationMs: Math.round(durationSec * 1000),
});

type GoodReply = Extract<ParsedReply, { ok: true }>;

/** Where a step stands in its episode, and how it is kept. */
interface StepPlace {
  readonly turn: number;
  readonly call: number;
  readonly raw: boolean;
}

/** The step of a reply that was read: its words, and what it asked for as tool calls; or the reply as it came. */
function stepOf(parsed: GoodReply, reply: Reply, { turn, call, raw }: StepPlace): TrajectoryStep {
  const reasoning = reply.reasoning === null ? {} : { reasoning: reply.reasoning };
  if (raw) return { source: 'agent', message: reply.text, ...reasoning, call };
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
    ...reasoning,
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
  const protocol = protocolOf(options);
  const { form } = protocol;
  const gauge = new ContextGauge(options, tools.model);
  const chat = new Chat(options, protocol, gauge, tools);
  const turns = new Turns({ options, form, instruction, chat, gauge, tools });
  const initial = await tools.terminal.act([]);
  if (!initial.alive) return terminalLost;
  let say = firstMessage(options, form, instruction, describeObservation(initial));
  tools.log({ source: 'user', message: say });

  let confirming = false;
  for (let turn = 0; turn < options.max_turns; turn += 1) {
    const asked = await turns.ask(say);
    if (asked.kind === 'end') return asked.end;
    if (asked.kind === 'canned') {
      say = errorMessage(form, 'no reply could be had', []);
      tools.log({ source: 'agent', message: asked.text, observation: say });
      continue;
    }
    const { reply, call } = asked;

    const parsed = protocol.parse(reply.text);
    if (!parsed.ok) {
      say = errorMessage(form, parsed.error, parsed.warnings);
      const reasoning = reply.reasoning === null ? {} : { reasoning: reply.reasoning };
      tools.log({ source: 'agent', message: reply.text, ...reasoning, observation: say, call });
      continue;
    }

    const step = stepOf(parsed, reply, { turn, call, raw: options.trajectory_config.raw_content });
    const observation = await tools.terminal.act(parsed.commands.map(actionOf)).catch((error: unknown) => {
      tools.log(step); // the clock ran out, or the sandbox went: what was asked for is kept
      throw error;
    });
    const state = describeObservation(observation);
    const confirmed = parsed.complete && confirming;
    confirming = parsed.complete;
    say = parsed.complete
      ? confirmationMessage(form, instruction, state)
      : observationMessage(state, parsed.warnings);
    tools.log({ ...step, observation: confirmed || !observation.alive ? state : say });
    if (confirmed) return { ending: 'completed', detail: null };
    if (!observation.alive) return terminalLost;
  }
  return { ending: 'turn-limit', detail: `${options.max_turns} turns` };
}
