// The trial's identity, as X-Session-ID carries it with every request.

export interface Session {
  readonly sweep: string;
  readonly task: string;
  readonly model: string;
  readonly scaffold: string;
  readonly attempt: number;
  readonly generation: number;
  readonly step: string;
}

const shape = 'SWEEP/TASK/MODEL/SCAFFOLD/ATTEMPT/GENERATION/STEP';

/**
 * Reads `<sweep>/<task>/<model>/<scaffold>/<attempt>/<generation>/<step>`.
 * @returns the session, or the one line that says what is wrong with the header.
 */
export function readSession(header: string | undefined): Session | string {
  if (header === undefined) {
    return `header X-Session-ID is missing: a known-rate model reads the trial from it (${shape})`;
  }
  const parts = header.split('/');
  const [sweep, task, model, scaffold, attempt, generation, step] = parts;
  if (
    parts.length !== 7 ||
    !parts.every((part) => /^[A-Za-z0-9._-]+$/.test(part)) ||
    sweep === undefined ||
    task === undefined ||
    model === undefined ||
    scaffold === undefined ||
    step === undefined
  ) {
    return `header X-Session-ID '${header.slice(0, 200)}' is not ${shape} (each of [A-Za-z0-9._-])`;
  }
  const ordinals = [Number(attempt), Number(generation)] as const;
  if (!ordinals.every((n) => Number.isInteger(n) && n >= 1)) {
    return `header X-Session-ID '${header.slice(0, 200)}': attempt and generation count from 1`;
  }
  return { sweep, task, model, scaffold, attempt: ordinals[0], generation: ordinals[1], step };
}
