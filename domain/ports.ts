// The two ports that a scaffold sees, and nothing else: a Terminal and a Model.
import type { ToolCall, ToolOffer } from './tools.ts';

/** What a scaffold types in one turn: keystrokes, then at least `durationMs` of waiting from their start. */
export interface TerminalAction {
  /** An exact tmux key name (`C-c`, `Enter`) is that key; anything else is typed literally. Empty waits. */
  readonly keystrokes: string;
  readonly durationMs: number;
}

export interface Observation {
  /** False once the terminal session is gone: nothing can be typed any more. */
  readonly alive: boolean;
  /** Output since the last observation, null where it cannot be told apart from what was there. */
  readonly fresh: string | null;
  /** The visible screen. */
  readonly screen: string;
}

/** A command outside the terminal: argv without a shell. */
export interface PlainCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number | null;
  /** Absent: closed. */
  readonly stdin?: string;
  /** Bytes kept of each stream: first half and last half, with a line between. Absent: 1 MiB. */
  readonly outputLimitBytes?: number;
}

export interface PlainResult {
  /** Exit status; 128 + signal where a signal ended it. */
  readonly exitCode: number;
  readonly timedOut: boolean;
  /** Both streams as they came, bounded. */
  readonly output: string;
}

export interface Terminal {
  /** Types the actions in order and observes. With no actions: observes only. */
  act(actions: readonly TerminalAction[]): Promise<Observation>;
  /** Runs one command beside the terminal, as the agent's user. */
  run(command: PlainCommand): Promise<PlainResult>;
}

export interface ChatMessage {
  /** `tool`: what came of the call `toolCallId`. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** What an assistant thought before its content, where a scaffold hands it back (`interleaved_thinking`). */
  readonly reasoning?: string;
  /** The calls of an assistant's message, handed back: servers refuse one whose arguments are no JSON object. */
  readonly toolCalls?: readonly ToolCall[];
  readonly toolCallId?: string;
}

export type FinishReason = 'stop' | 'length';

/** One reply of the model, or the server's word that the prompt does not fit its context. */
export type Answer =
  | {
      readonly kind: 'reply';
      /** The reply's text; reasoning_content is kept apart. */
      readonly text: string;
      readonly reasoning: string | null;
      /** In the order in which the model made them; absent: none. */
      readonly toolCalls?: readonly ToolCall[];
      readonly finishReason: FinishReason;
      readonly promptTokens: number;
      readonly completionTokens: number;
    }
  | {
      readonly kind: 'overflow';
      readonly message: string;
      /** Tokens that a prompt may have, where the message tells the context's length. */
      readonly promptTokensLimit?: number;
    };

export interface Model {
  readonly name: string;
  /**
   * Tokens that a prompt may have: the server's context, less what the sampling keeps for the reply. Null, or absent:
   * not known.
   */
  readonly promptTokensLimit?: () => Promise<number | null>;
  /** `offer`: tools that the reply may call; absent: none. */
  ask(messages: readonly ChatMessage[], offer?: ToolOffer): Promise<Answer>;
}

/** The agent's end as the scaffold itself can see it; the runner adds those that only it can see. */
export type ScaffoldEnding =
  'completed' | 'turn-limit' | 'out-of-context' | 'out-of-output' | 'no-valid-call' | 'terminal-lost';

/** One question and its answer of a compaction, asked beside the chat. */
export interface CompactionPart {
  readonly name: 'summary' | 'questions' | 'answers' | 'short-summary';
  /** What was said before the question. */
  readonly history: readonly ChatMessage[];
  readonly question: string;
  /** Null where no whole answer came. */
  readonly answer: { readonly text: string; readonly reasoning: string | null } | null;
  readonly call: number;
}

/** A chat that came near the context's limit, or over it, and was replaced by a shorter one. */
export interface Compaction {
  /** From 1, in its episode. */
  readonly ordinal: number;
  readonly trigger: 'threshold' | 'overflow';
  /**
   * What the model goes on from: its own summary with answers, a short summary, the screen alone, the first message
   * anew where nothing was left of the chat; `none`: the chat stays as it was.
   */
  readonly outcome: 'summary' | 'short-summary' | 'screen' | 'restart' | 'none';
  /** Length of the chat before it in tokens: an estimate. */
  readonly tokensEstimate: number;
  readonly limitTokens: number;
  readonly parts: readonly CompactionPart[];
  readonly before: readonly ChatMessage[];
  readonly after: readonly ChatMessage[];
  /** The trajectory goes on in a file of its own. */
  readonly splits: boolean;
}

/** One step of an episode in the shape of ATIF, kept by the scaffold for the trajectory. */
export interface TrajectoryStep {
  readonly source: 'system' | 'user' | 'agent';
  readonly message: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: Readonly<Record<string, unknown>>;
  }[];
  readonly observation?: string;
  /** What came of single calls, where each has an observation of its own. */
  readonly results?: readonly { readonly callId: string; readonly content: string }[];
  /** Index of the model call (from 0) whose metrics belong to this step. */
  readonly call?: number;
  /** Of a system step: what was done to the chat here. */
  readonly compaction?: Compaction;
}

export interface EpisodeEnd {
  readonly ending: ScaffoldEnding;
  readonly detail: string | null;
}

export interface EpisodeInput {
  readonly instruction: string;
  /** Environment of the oracle's solution; empty for every other scaffold. */
  readonly solutionEnv: Readonly<Record<string, string>>;
  /** Validated options of the scaffold. */
  readonly options: Readonly<Record<string, unknown>>;
}

export interface EpisodeTools {
  readonly terminal: Terminal;
  readonly model: Model;
  /** Appends to the trajectory. */
  readonly log: (step: TrajectoryStep) => void;
  /** The chat as it stands, kept for the SFT-ready column. */
  readonly keepMessages: (messages: readonly ChatMessage[]) => void;
}

/** The terminal that a scaffold types into. */
export interface TerminalSettings {
  readonly columns: number;
  readonly rows: number;
  /** Bytes of new output, and of the screen, that an observation holds. */
  readonly limitBytes: number;
}

/**
 * A scaffold drives the two ports and nothing else, deterministically: same answers and observations, same
 * calls. So an episode that lost its worker is run again over its records, and goes on where they end.
 */
export interface Scaffold {
  readonly name: string;
  readonly version: string;
  /** Whether the solution is laid at /solution before the episode: the oracle alone. */
  readonly needsSolution: boolean;
  /** Whether it asks the model at all. */
  readonly needsModel: boolean;
  /** Whether it offers the model tools. Absent: it does not. */
  readonly offersTools?: boolean;
  /** Parses its options; throws InputError. The result, as JSON, is part of the trial's identity. */
  parseOptions(options: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /** Its terminal under parsed options. Absent: it types nothing, and runs commands at most. */
  terminal?(options: Readonly<Record<string, unknown>>): TerminalSettings;
  episode(input: EpisodeInput, tools: EpisodeTools): Promise<EpisodeEnd>;
}
