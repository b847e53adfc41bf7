// What reading a task finds: messages with file, key and line, and whether one of them rejects the task.
import type { RejectionReason } from '../domain/failures.ts';
import type { TaskMessage } from '../domain/task.ts';

export interface Place {
  readonly file: string;
  readonly key?: string | null;
  readonly line?: number | null;
}

export interface Finding extends TaskMessage {
  /** Why the task leaves the plan; null for a warning. */
  readonly rejection: RejectionReason | null;
}

export class Findings {
  readonly #list: Finding[] = [];
  readonly #strict: boolean;

  /** @param strict unknown keys and tables are errors. */
  constructor(strict: boolean) {
    this.#strict = strict;
  }

  error(place: Place, reason: string, rejection: RejectionReason = 'invalid'): void {
    this.#list.push({ severity: 'error', ...full(place), reason, rejection });
  }

  warn(place: Place, reason: string): void {
    this.#list.push({ severity: 'warning', ...full(place), reason, rejection: null });
  }

  /** A key or table that the format does not have. */
  unknown(place: Place, reason: string): void {
    if (this.#strict) this.error(place, reason);
    else this.warn(place, reason);
  }

  get failed(): boolean {
    return this.#list.some((finding) => finding.severity === 'error');
  }

  get list(): readonly Finding[] {
    return this.#list;
  }
}

function full(place: Place): { file: string; key: string | null; line: number | null } {
  return { file: place.file, key: place.key ?? null, line: place.line ?? null };
}
