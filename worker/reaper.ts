// Removes what the driver lists of workflows that are over: what a worker that was killed, or a workflow ended by hand, left.
import type { Logger } from 'pino';
import { storeLabel, workflowLabel } from '../domain/sandbox-labels.ts';
import type { SandboxDriver } from '../sandbox/port.ts';
import type { WorkflowState } from './workflow-states.ts';

const minuteMs = 60_000;

/** Between two looks. */
const everyMs = 2 * minuteMs;
/** Younger ones are let be: a clean-up that runs, or a generation that just ended, needs no help. */
const closedAgeMs = 5 * minuteMs;
/**
 * A server that knows no such workflow may be another one than the sandbox's: two of them over one store and one engine
 * are not to take each other's sandboxes. By this age no trial is left that a running sweep could want.
 */
const unknownAgeMs = 24 * 60 * minuteMs;

export interface ReaperParts {
  readonly driver: Pick<SandboxDriver, 'list' | 'destroy'>;
  /** Sandboxes of other stores are others' to remove. */
  readonly storeId: () => Promise<string>;
  readonly stateOf: (workflow: string) => Promise<WorkflowState>;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly now: () => Date;
}

export interface Reaper {
  /** Waits for the look that is under way. */
  stop(): Promise<void>;
}

/** Looks at once and then every two minutes. */
export function startReaper(parts: ReaperParts): Reaper {
  let looking: Promise<void> | null = null;
  const look = (): void => {
    looking ??= reap(parts).finally(() => {
      looking = null;
    });
  };
  const timer = setInterval(look, everyMs);
  look();
  return {
    stop: async () => {
      clearInterval(timer);
      await looking;
    },
  };
}

/** One look. What cannot be asked or removed now is told in the log and left for the next one. */
export async function reap(parts: ReaperParts): Promise<void> {
  const { driver, storeId, log } = parts;
  try {
    const found = await driver.list({ [storeLabel]: await storeId() });
    for (const { name, labels, createdAt } of found) {
      const workflow = labels[workflowLabel];
      if (workflow === undefined) continue;
      await reapOne(parts, { name, workflow, createdAt });
    }
  } catch (error) {
    log.warn({ error: String(error) }, 'sandboxes without a workflow could not be looked for');
  }
}

interface Found {
  readonly name: string;
  readonly workflow: string;
  readonly createdAt: string;
}

async function reapOne(
  { driver, stateOf, log, now }: ReaperParts,
  { name, workflow, createdAt }: Found,
): Promise<void> {
  const ageMs = now().getTime() - Date.parse(createdAt);
  if (ageMs < closedAgeMs) return;
  try {
    const state = await stateOf(workflow);
    if (state === 'running' || (state === 'unknown' && ageMs < unknownAgeMs)) return;
    await driver.destroy(name);
    log.info({ sandbox: name, workflow, state, ageMs }, 'sandbox without a workflow removed');
  } catch (error) {
    log.warn({ sandbox: name, workflow, error: String(error) }, 'sandbox without a workflow stays for now');
  }
}
