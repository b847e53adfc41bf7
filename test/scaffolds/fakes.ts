// The two ports, scripted: answers and observations in order, and all that was asked of them.
import type {
  Answer,
  ChatMessage,
  EpisodeTools,
  Observation,
  PlainCommand,
  PlainResult,
  TerminalAction,
  TrajectoryStep,
} from '../../domain/ports.ts';

export interface Script {
  readonly answers?: readonly (Answer | string)[];
  /** The first is what the terminal shows before any reply; after the last, the last again. */
  readonly observations?: readonly (Observation | string)[];
  readonly result?: PlainResult;
  /** Tokens that a prompt may have; absent: not known. */
  readonly promptTokensLimit?: number;
}

export interface Fake {
  readonly tools: EpisodeTools;
  readonly asked: (readonly ChatMessage[])[];
  readonly acted: (readonly TerminalAction[])[];
  readonly ran: PlainCommand[];
  readonly steps: TrajectoryStep[];
  /** The chat as it was kept last. */
  kept: readonly ChatMessage[];
}

export const answer = (text: string, more: Partial<Extract<Answer, { kind: 'reply' }>> = {}): Answer => ({
  kind: 'reply',
  text,
  reasoning: null,
  finishReason: 'stop',
  promptTokens: 1,
  completionTokens: 1,
  ...more,
});

export const shows = (fresh: string): Observation => ({ alive: true, fresh, screen: `screen of ${fresh}` });

/** A reply of Terminus-2 that types these lines. */
export const types = (lines: readonly string[], complete = false): string =>
  JSON.stringify({
    analysis: 'seen',
    plan: 'next',
    commands: lines.map((keystrokes) => ({ keystrokes, duration: 0.1 })),
    task_complete: complete,
  });

export function scripted(script: Script): Fake {
  const fake: Fake = {
    asked: [],
    acted: [],
    ran: [],
    steps: [],
    kept: [],
    tools: {
      model: {
        name: 'scripted',
        promptTokensLimit: () => Promise.resolve(script.promptTokensLimit ?? null),
        ask: (messages) => {
          const next = script.answers?.[fake.asked.length];
          fake.asked.push(structuredClone(messages));
          if (next === undefined) return Promise.reject(new Error('the script has no more answers'));
          return Promise.resolve(typeof next === 'string' ? answer(next) : next);
        },
      },
      terminal: {
        act: (actions) => {
          const next = script.observations?.[fake.acted.length] ?? script.observations?.at(-1) ?? 'nothing';
          fake.acted.push(structuredClone(actions));
          return Promise.resolve(typeof next === 'string' ? shows(next) : next);
        },
        run: (command) => {
          fake.ran.push(command);
          return Promise.resolve(script.result ?? { exitCode: 0, timedOut: false, output: '' });
        },
      },
      log: (step) => fake.steps.push(structuredClone(step)),
      keepMessages: (messages) => {
        fake.kept = messages;
      },
    },
  };
  return fake;
}
