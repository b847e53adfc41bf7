// Faults that a test asks of the server: a status, a hang, or a stream cut in the middle.
import type { Session } from './session.ts';

interface FaultQuestion {
  /** Null: no trial's request, but a sweep's question whether the model is back. */
  readonly session: Session | null;
  readonly model: string;
  /** Replies that the conversation holds already. */
  readonly call: number;
  /** How many requests for a reply this server has had before, of every trial. */
  readonly arrival: number;
}

export type Fault =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterSec?: number }
  /** The request is taken and never answered. */
  | { readonly kind: 'hang' }
  /** The connection is reset after so many chunks of the stream. */
  | { readonly kind: 'cut'; readonly afterChunks: number };

export type Faults = (question: FaultQuestion) => Fault | null;
