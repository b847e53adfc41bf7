// Whether first tokens come later than they use to: a server's queue shows there before it refuses anything.

/** Answers before anything is called usual. */
const fewest = 16;
/** Weights of a new answer: the usual follows slowly (prompts grow as episodes go on), the recent at once. */
const usualWeight = 1 / 64;
const recentWeight = 1 / 8;
/** Degraded: this many times the usual, and this much later. */
const factor = 3;
const marginMs = 500;

export class FirstTokenTrend {
  #usualMs = 0;
  #recentMs = 0;
  #answers = 0;

  /** Takes the time to the first token of one answer; tells whether the recent ones have become slow. */
  take(firstTokenMs: number): boolean {
    this.#answers += 1;
    const early = 1 / this.#answers;
    this.#usualMs += (firstTokenMs - this.#usualMs) * Math.max(usualWeight, early);
    this.#recentMs += (firstTokenMs - this.#recentMs) * Math.max(recentWeight, early);
    return (
      this.#answers >= fewest && this.#recentMs > Math.max(this.#usualMs * factor, this.#usualMs + marginMs)
    );
  }

  /** Something was done about it: what is recent begins anew. */
  settle(): void {
    this.#recentMs = this.#usualMs;
  }
}
