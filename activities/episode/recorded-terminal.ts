// The Terminal port over its records: the n-th call answers from its record, else acts, writes the record, and goes on.
import type { ObservationRecord } from '../../domain/episode.ts';
import type { Observation, PlainCommand, PlainResult, Terminal, TerminalAction } from '../../domain/ports.ts';
import type { User } from '../../domain/task.ts';
import { joinHalves } from '../../scaffolds/join-halves.ts';
import type { Sandbox, TerminalOptions, TerminalSession } from '../../sandbox/port.ts';
import { untilAborted } from '../sandbox-pool.ts';
import type { EpisodeSession } from './session.ts';
import { digestOf, observations } from './turn-records.ts';

/** Bytes kept of each stream of a plain command that names no limit. */
const defaultOutputLimitBytes = 1024 ** 2;

export interface RecordedTerminalOptions {
  readonly sandbox: Sandbox;
  readonly terminal: TerminalOptions;
  readonly user: User;
  /** Turns that the terminal took in earlier steps: it goes on counting. */
  readonly seqBase: number;
  /** Ids of this step's commands begin so. */
  readonly commandPrefix: string;
}

type Made = Pick<ObservationRecord, 'kind' | 'actions' | 'observation' | 'result' | 'commandsMs'>;

export class RecordedTerminal implements Terminal {
  readonly #session: EpisodeSession;
  readonly #options: RecordedTerminalOptions;
  #calls = 0;
  #terminal: Promise<TerminalSession> | null = null;

  constructor(session: EpisodeSession, options: RecordedTerminalOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** The terminal's sequence number after the calls made so far. */
  get seq(): number {
    return this.#options.seqBase + this.#calls;
  }

  async act(actions: readonly TerminalAction[]): Promise<Observation> {
    const record = await this.#recorded({ act: actions }, async () => {
      this.#terminal ??= this.#options.sandbox.terminal(this.#options.terminal);
      const terminal = await untilAborted(this.#session.signal, this.#terminal);
      const acted = terminal.act(this.seq + 1, actions, Math.ceil(this.#session.clock.remainingMs));
      const { observation, wallMs } = await untilAborted(this.#session.signal, acted);
      return {
        kind: 'act',
        actions: actions.map(({ keystrokes, durationMs }) => ({ keystrokes, durationMs })),
        observation,
        result: null,
        commandsMs: wallMs,
      };
    });
    return record.observation ?? { alive: false, fresh: null, screen: '' };
  }

  async run(command: PlainCommand): Promise<PlainResult> {
    const record = await this.#recorded({ run: command }, async () => {
      const leftMs = Math.ceil(this.#session.clock.remainingMs);
      const { sandbox, user, commandPrefix } = this.#options;
      const limit = command.outputLimitBytes ?? defaultOutputLimitBytes;
      const ran = await sandbox.run(
        {
          id: `${commandPrefix}-${this.#calls}`,
          argv: command.argv,
          env: command.env,
          byAgent: true,
          user,
          timeoutMs: Math.min(command.timeoutMs ?? leftMs, leftMs),
          outputLimitBytes: limit,
          ...(command.stdin === undefined ? {} : { stdin: Buffer.from(command.stdin) }),
        },
        this.#session.signal,
      );
      return {
        kind: 'run',
        actions: [],
        observation: null,
        result: {
          exitCode: ran.exitCode,
          timedOut: ran.timedOut,
          output:
            joinHalves(ran.stdout, ran.stdoutOmitted, limit) +
            joinHalves(ran.stderr, ran.stderrOmitted, limit),
        },
        commandsMs: ran.wallMs,
      };
    });
    return record.result ?? { exitCode: 126, timedOut: false, output: '' };
  }

  #recorded(request: unknown, make: () => Promise<Made>): Promise<ObservationRecord> {
    return this.#session.call(async () => {
      const call = this.#calls;
      const requestDigest = digestOf(request);
      const { records, clock, now } = this.#session;
      const write = async (): Promise<ObservationRecord> => {
        const startedAt = now().toISOString();
        const made = await make();
        const head = { format: 'passband.observation', version: 1, call, requestDigest, startedAt } as const;
        return records.write(observations, call, { ...head, ...made });
      };
      const record = (await records.find(observations, call, requestDigest)) ?? (await write());
      this.#calls += 1;
      clock.chargeCommands(record);
      return record;
    });
  }
}
