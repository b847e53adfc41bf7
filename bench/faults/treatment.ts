// What a proxy does to one request in place of handing it on, or beside that.
import type { IncomingHttpHeaders } from 'node:http';
import type { Transform } from 'node:stream';

/** A request as a proxy sees it, its body whole. */
export interface Asked {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Treatment =
  /** Answered here. `performed`: the server has done what was asked all the same. */
  | { readonly kind: 'answer'; readonly answer: Answer; readonly performed: boolean }
  /** Taken and never answered; the connection is cut when the treatment ends. */
  | { readonly kind: 'hang' }
  /** The connection is cut: with nothing handed on, after so many bytes of the body, or in place of the answer. */
  | { readonly kind: 'cut'; readonly after: 'nothing' | 'half-the-body' | 'the-deed' }
  /** Handed on, its answer changed on the way. The answer is cut where the transform fails. */
  | { readonly kind: 'change'; readonly through: Transform };

/** Null: handed on as it is. */
export type Treat = (asked: Asked) => Treatment | null;
