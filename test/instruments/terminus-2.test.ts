// Known-rate models under the real Terminus-2: the scaffold reads them, and their ends are the ones they mean.
import { describe, expect, it } from 'vitest';
import type { ChatMessage, EpisodeTools, Observation, TerminalAction } from '../../domain/ports.ts';
import { failurePlanOf, intentOf, type Intent } from '../../instruments/known-rate/intent.ts';
import { movesOf } from '../../instruments/known-rate/moves.ts';
import { nextReply } from '../../instruments/known-rate/reply.ts';
import { sentinelOf } from '../../instruments/known-rate/typing.ts';
import { terminus2 } from '../../scaffolds/terminus-2/index.ts';
import { nearTask } from './known-data.ts';

const tag = 'dd44ee55ff66';

/** An episode on a screen that shows the sentinel one look after the solution was typed. */
async function play(intent: Intent, compat: 'none' | 'strict') {
  const moves = movesOf(intent, failurePlanOf(intent, nearTask), { task: nearTask, step: 0, tag });
  const typed: TerminalAction[] = [];
  let chat: readonly ChatMessage[] = [];
  let ran = false;
  const observe = (fresh: string): Observation => ({ alive: true, fresh, screen: fresh });
  const tools: EpisodeTools = {
    terminal: {
      act: (actions) => {
        const before = ran;
        typed.push(...actions);
        ran ||= actions.some(({ keystrokes }) => keystrokes.includes('DONE'));
        return Promise.resolve(observe(before ? `${sentinelOf(tag)} 0\n$` : 'busy\n'));
      },
      run: () => Promise.reject(new Error('Terminus-2 runs nothing beside its terminal')),
    },
    model: {
      name: intent.model,
      ask: (messages) =>
        Promise.resolve({
          kind: 'reply',
          text: nextReply(moves, messages, tag),
          reasoning: null,
          finishReason: 'stop',
          promptTokens: 1,
          completionTokens: 1,
        }),
    },
    log: () => undefined,
    keepMessages: (messages) => {
      chat = messages;
    },
  };
  const options = terminus2.parseOptions({ compat, max_turns: 15 });
  const { ending } = await terminus2.episode({ instruction: 'do it', solutionEnv: {}, options }, tools);
  const told = chat.filter(({ role }) => role === 'user').map(({ content }) => content);
  return {
    ending,
    typed: typed.map(({ keystrokes }) => keystrokes).join(''),
    errors: told.filter((content) => content.includes('ERROR: ')).length,
    warnings: told.filter((content) => content.includes('WARNINGS')).length,
  };
}

describe.each(['none', 'strict'] as const)('a known-rate model under Terminus-2, compat %s', (compat) => {
  const intents = Array.from({ length: 60 }, (_, at) => intentOf(2, 'known-rate-0.5', 'near', at + 1));

  it('is read without a warning, and with an error only where it means one', async () => {
    for (const intent of intents) {
      const { errors, warnings } = await play(intent, compat);
      const way = failurePlanOf(intent, nearTask)?.way;
      const slips = intent.solve ? intent.slips : way === 'breaks-protocol-once';
      expect([warnings, errors], `attempt ${intent.attempt}`).toEqual([0, slips ? 1 : 0]);
    }
  });

  it('runs the solution where it means to solve, and completes unless it means never to', async () => {
    for (const intent of intents) {
      const { ending, typed } = await play(intent, compat);
      const way = failurePlanOf(intent, nearTask)?.way;
      expect(ending).toBe(way === 'never-finishes' ? 'turn-limit' : 'completed');
      expect(typed.includes('/solve.sh')).toBe(intent.solve || way === 'one-assertion');
      expect(typed.includes('/near-miss.sh')).toBe(way === 'one-assertion');
    }
  });
});
