// How many of a reply's ids are its thinking, told from what came with them: a server's parser keeps thinking apart, or its tag is in the text.
import type { FinishReason } from '../domain/ports.ts';

interface Piece {
  readonly text: string;
  /** Thinking came with it, apart from the text. */
  readonly thinks: boolean;
  /** Text or a call came with it. */
  readonly speaks: boolean;
}

const usualClose = '</think>';

/** Counts only the ids of pieces that are thinking as a whole: a piece that brings both, or ends it, is left out. */
export class ThinkingGauge {
  readonly #close: string;
  #thinks = false;
  #spokeAt: number | null = null;
  #closedAt: number | null = null;
  #tail = '';

  constructor(close = usualClose) {
    this.#close = close;
  }

  /** Takes a piece that begins after `idsBefore` ids. */
  take({ text, thinks, speaks }: Piece, idsBefore: number): void {
    if (thinks) this.#thinks = true;
    if (speaks) this.#spokeAt ??= idsBefore;
    if (text === '' || this.#closedAt !== null) return;
    const seen = this.#tail + text;
    if (seen.includes(this.#close)) this.#closedAt = idsBefore;
    this.#tail = seen.slice(1 - this.#close.length);
  }

  /** Of a reply of `all` ids. The id that ends one is no thinking. */
  ids(all: number, finish: FinishReason | null): number {
    if (!this.#thinks) return this.#closedAt ?? 0;
    return this.#spokeAt ?? Math.max(0, finish === 'length' ? all : all - 1);
  }
}
