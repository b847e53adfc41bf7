// Why a server gave no answer: its class says what the trial does, the kind where the next request goes.
import { ClassifiedError } from '../domain/errors.ts';
import type { FailureClass } from '../domain/failures.ts';

/**
 * `overloaded`: it is there and asks for less. `away`: no connection, or a server that cannot serve. `hung`: nothing
 * came within the time that a request has.
 */
export type TroubleKind = 'overloaded' | 'away' | 'hung';

/** A ModelUnavailable with its kind. */
export class ModelTrouble extends ClassifiedError {
  readonly kind: TroubleKind;

  constructor(kind: TroubleKind, message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super('ModelUnavailable', message, options);
    this.kind = kind;
  }
}

/** A refusal that says more than that the server is away, with its HTTP status. */
export class HttpRefusal extends ClassifiedError {
  readonly status: number;

  constructor(
    failureClass: FailureClass,
    status: number,
    message: string,
    options: { retryAfterMs?: number } = {},
  ) {
    super(failureClass, message, options);
    this.status = status;
  }
}

const asksForLess = /overload|too busy|too many|capacity|queue (?:is )?full|rate.?limit|slow down/i;

/** The kind of an HTTP answer that means ModelUnavailable. A 503 says either: its words or a named delay tell which. */
export function troubleOfStatus(status: number, said: string, retryAfterMs: number | null): TroubleKind {
  if (status === 429 || status === 529) return 'overloaded';
  return status === 503 && (retryAfterMs !== null || asksForLess.test(said)) ? 'overloaded' : 'away';
}
