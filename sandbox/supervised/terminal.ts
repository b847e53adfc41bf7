// The terminal of a sandbox: a tmux session that the supervisor drives, a turn to each sequence number.
import type { TerminalAction } from '../../domain/ports.ts';
import { SupervisorError } from '../protocol/connection.ts';
import { TerminalActResponse, TerminalStartResponse } from '../protocol/responses.ts';
import { recordingPath, type ActResult, type TerminalOptions, type TerminalSession } from '../port.ts';
import { recovering } from './recovery.ts';
import type { Supervised } from './supervised.ts';
import { unstartableAfterAgent } from './unstartable.ts';

/** Starts the session, or finds it; one that cannot be is dead from the start. */
export async function openTerminal(sandbox: Supervised, options: TerminalOptions): Promise<TerminalSession> {
  const { facts } = sandbox;
  const request = {
    op: 'terminal.start',
    user: options.user,
    columns: options.columns,
    rows: options.rows,
    cwd: options.cwd ?? facts.image.workdir,
    env: { ...facts.env, ...options.env },
    limitBytes: options.limitBytes,
    recording: recordingPath,
  };
  // In a fresh sandbox a want of processes or memory is the machine's.
  const refusals = options.byAgent === true ? unstartableAfterAgent : ['not-found'];
  try {
    await recovering(
      sandbox,
      'terminal',
      (connection) => connection.exchange({ request, response: TerminalStartResponse }),
      refusals,
    );
  } catch (error) {
    if (error instanceof SupervisorError && refusals.includes(error.kind))
      return new DeadTerminal(error.message);
    throw error;
  }
  return new SupervisedTerminal(sandbox);
}

class SupervisedTerminal implements TerminalSession {
  readonly #sandbox: Supervised;

  constructor(sandbox: Supervised) {
    this.#sandbox = sandbox;
  }

  async act(seq: number, actions: readonly TerminalAction[], budgetMs: number | null): Promise<ActResult> {
    const request = { op: 'terminal.act', seq, actions, budgetMs };
    const { response } = await recovering(this.#sandbox, `terminal, turn ${seq}`, (connection) =>
      connection.exchange({ request, response: TerminalActResponse }),
    );
    const { alive, fresh, screen, wallMs } = response;
    return { observation: { alive, fresh, screen }, wallMs };
  }
}

class DeadTerminal implements TerminalSession {
  readonly #reason: string;

  constructor(reason: string) {
    this.#reason = reason;
  }

  act(): Promise<ActResult> {
    const screen = `passband: no terminal: ${this.#reason}`;
    return Promise.resolve({ observation: { alive: false, fresh: null, screen }, wallMs: 0 });
  }
}
