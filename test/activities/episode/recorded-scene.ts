// An episode's session and terminal over turn records of a real store, with a sandbox that is none.
import { AgentClock } from '../../../activities/episode/clock.ts';
import { RecordedTerminal } from '../../../activities/episode/recorded-terminal.ts';
import { EpisodeSession, type SessionOptions } from '../../../activities/episode/session.ts';
import { TurnRecords } from '../../../activities/episode/turn-records.ts';
import type { SandboxSpec } from '../../../sandbox/port.ts';
import type { Store } from '../../../store/port.ts';
import type { FakeSandbox } from '../fake-driver.ts';

export const chargedClock = (limitMs: number): AgentClock =>
  new AgentClock({ limitMs, kind: 'charged', tokensPerSecond: null });

/** The first step of the generation whose records begin so. */
export async function openSession(
  store: Store,
  prefix: string,
  { clock, signal, attempt }: Pick<SessionOptions, 'clock'> & Partial<SessionOptions>,
): Promise<EpisodeSession> {
  return new EpisodeSession({
    records: await TurnRecords.open(store, prefix, 0),
    clock,
    signal: signal ?? new AbortController().signal,
    attempt: attempt ?? 1,
    now: () => new Date('2026-01-01T00:00:00.000Z'),
    beat: () => undefined,
  });
}

export const agentSpec: SandboxSpec = {
  ...{ name: 'pb-1-agent', image: { reference: 'i', digest: 'd' }, labels: {} },
  ...{ cpus: 1, memoryMiB: 1, diskMiB: 1, pids: 1, env: {}, workdir: null },
  ...{ network: 'deny', baseline: true, lifetimeSec: 60 },
};

export const openTerminal = (
  session: EpisodeSession,
  sandbox: FakeSandbox,
  { user = null, seqBase = 0 }: { readonly user?: string | null; readonly seqBase?: number } = {},
): RecordedTerminal =>
  new RecordedTerminal(session, {
    sandbox,
    terminal: { user: null, columns: 160, rows: 40, cwd: null, env: {}, limitBytes: 10_000 },
    user,
    seqBase,
    commandPrefix: 'run-0',
  });

/** How an episode ended; null where its worker was lost. */
export async function unlessLost<T>(playing: Promise<T>): Promise<T | null> {
  try {
    return await playing;
  } catch (error) {
    if (error instanceof Error && error.message === 'lost') return null;
    throw error;
  }
}
