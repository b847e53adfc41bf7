// The turns of the bash scaffold: ask, run the calls in order, tell what came of each; until the work is handed in.
import type { Answer, ChatMessage, EpisodeEnd, EpisodeTools, TrajectoryStep } from '../../domain/ports.ts';
import type { ToolCall } from '../../domain/tools.ts';
import type { BashOptions } from './options.ts';
import { argumentsOf, holdsCall, parseCall, type ParsedCall } from './parse-call.ts';
import { shellCommand } from './shell.ts';
import { offerOf } from './tools.ts';
import {
  commandResult,
  errorResult,
  lengthMessage,
  noCallMessage,
  notRunResult,
  submittedResult,
  systemPrompt,
} from './words.ts';

type Reply = Extract<Answer, { kind: 'reply' }>;

const longestDetail = 300;

/** A chat as servers take it back: they refuse one in which the arguments of a call are no JSON object. */
function messageOf({ text, reasoning, toolCalls }: Reply, handBack: boolean): ChatMessage {
  const calls = toolCalls?.map((call) =>
    argumentsOf(call) === null || call.arguments.trim() === '' ? { ...call, arguments: '{}' } : call,
  );
  return {
    role: 'assistant',
    content: text,
    ...(handBack && reasoning !== null ? { reasoning } : {}),
    ...(calls === undefined ? {} : { toolCalls: calls }),
  };
}

function stepOf({ text, reasoning }: Reply, call: number): TrajectoryStep {
  return { source: 'agent', message: text, ...(reasoning === null ? {} : { reasoning }), call };
}

const isAnswer = (text: string): boolean => text.trim() !== '' && !holdsCall(text);

const loggedCall = (call: ToolCall): NonNullable<TrajectoryStep['toolCalls']>[number] => ({
  id: call.id,
  name: call.name,
  arguments: argumentsOf(call) ?? { malformed: call.arguments },
});

/** How a turn came out: whether it had a valid call, and whether it handed the work in. */
interface Turn {
  readonly valid: boolean;
  readonly submitted: boolean;
}

class Episode {
  readonly #options: BashOptions;
  readonly #tools: EpisodeTools;
  readonly #messages: ChatMessage[] = [];
  #calls = 0;

  constructor(options: BashOptions, tools: EpisodeTools) {
    this.#options = options;
    this.#tools = tools;
  }

  say(message: ChatMessage): void {
    this.#messages.push(message);
    this.#tools.keepMessages([...this.#messages]);
  }

  async run(instruction: string): Promise<EpisodeEnd> {
    const { finish, max_turns, max_invalid_turns, max_length_reasks } = this.#options;
    this.#begin(instruction);
    let invalid = 0;
    let cut = 0;
    for (let turn = 0; turn < max_turns; turn += 1) {
      const answer = await this.#tools.model.ask([...this.#messages], offerOf(this.#options));
      const call = this.#calls;
      this.#calls += 1;
      if (answer.kind === 'overflow') {
        return { ending: 'out-of-context', detail: answer.message.slice(0, longestDetail) };
      }
      if (answer.finishReason === 'length') {
        cut += 1;
        this.#askShorter(answer, call);
        if (cut <= max_length_reasks) continue;
        return { ending: 'out-of-output', detail: `${cut} replies in a row were cut by their length` };
      }
      cut = 0;
      const calls = answer.toolCalls ?? [];
      this.say(messageOf(answer, this.#options.interleaved_thinking));
      if (calls.length === 0 && finish === 'answer' && isAnswer(answer.text)) {
        this.#tools.log(stepOf(answer, call));
        return { ending: 'completed', detail: null };
      }
      const { valid, submitted } =
        calls.length === 0 ? this.#refuse(answer, call) : await this.#perform(answer, calls, call);
      if (submitted) return { ending: 'completed', detail: null };
      invalid = valid ? 0 : invalid + 1;
      if (invalid >= max_invalid_turns) {
        return { ending: 'no-valid-call', detail: `${invalid} turns in a row had no valid call` };
      }
    }
    return { ending: 'turn-limit', detail: `${max_turns} turns` };
  }

  #begin(instruction: string): void {
    const system = systemPrompt(this.#options);
    this.say({ role: 'system', content: system });
    this.say({ role: 'user', content: instruction });
    this.#tools.log({ source: 'system', message: system });
    this.#tools.log({ source: 'user', message: instruction });
  }

  /** What a cut reply called is not whole, and is neither run nor handed back. */
  #askShorter(reply: Reply, call: number): void {
    this.say({ role: 'assistant', content: reply.text });
    this.say({ role: 'user', content: lengthMessage });
    this.#tools.log({ ...stepOf(reply, call), observation: lengthMessage });
  }

  #refuse(reply: Reply, call: number): Turn {
    const said = noCallMessage(this.#options.finish, holdsCall(reply.text));
    this.say({ role: 'user', content: said });
    this.#tools.log({ ...stepOf(reply, call), observation: said });
    return { valid: false, submitted: false };
  }

  /** Runs the calls in their order, each to its end before the next; none after the one that hands the work in. */
  async #perform(reply: Reply, calls: readonly ToolCall[], call: number): Promise<Turn> {
    const results: { callId: string; content: string }[] = [];
    const log = (): void =>
      this.#tools.log({ ...stepOf(reply, call), toolCalls: calls.map(loggedCall), results });
    let turn: Turn = { valid: false, submitted: false };
    for (const one of calls) {
      const parsed = parseCall(one, this.#options);
      const content = turn.submitted
        ? notRunResult
        : await this.#resultOf(parsed, one).catch((error: unknown) => {
            log(); // the clock ran out, or the sandbox went: what was done until then is kept
            throw error;
          });
      turn = {
        valid: turn.valid || parsed.kind !== 'error',
        submitted: turn.submitted || parsed.kind === 'submit',
      };
      results.push({ callId: one.id, content });
      this.say({ role: 'tool', toolCallId: one.id, content });
    }
    log();
    return turn;
  }

  async #resultOf(parsed: ParsedCall, call: ToolCall): Promise<string> {
    switch (parsed.kind) {
      case 'error':
        return errorResult(parsed.error, call.arguments);
      case 'submit':
        return submittedResult;
      case 'run': {
        const { command, timeoutSec } = parsed;
        const limits = {
          timeoutMs: Math.ceil(timeoutSec * 1_000),
          outputLimitBytes: this.#options.output_limit_bytes,
        };
        return commandResult(await this.#tools.terminal.run(shellCommand(command, limits)), timeoutSec);
      }
    }
  }
}

/** Runs one episode over the two ports. Same answers and results: same calls. */
export const runBash = (
  instruction: string,
  options: BashOptions,
  tools: EpisodeTools,
): Promise<EpisodeEnd> => new Episode(options, tools).run(instruction);
