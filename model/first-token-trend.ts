// Whether first tokens come later than they use to: a server's queue shows there before it refuses anything.

/** The recent is the lower quartile of so many: a part always comes late (cold prefixes, compactions); a queue delays all. */
const window = 64;
const share = 0.25;
/** Answers before anything is called recent. */
const fewest = 16;
/** Rounds in which the usual follows: prompts grow by a turn a round. */
const usualRounds = 8;
/** Degraded: this many times the usual, and this much later. */
const factor = 3;
const marginMs = 500;

export class FirstTokenTrend {
  #recent: number[] = [];
  #usualMs = 0;
  /** How often the usual has followed. */
  #steps = 0;

  /**
   * Takes the time to the first token of one answer, with how many answers are a round; tells whether the recent ones
   * have become slow.
   */
  take(firstTokenMs: number, round: number): boolean {
    this.#recent.push(firstTokenMs);
    if (this.#recent.length > window) this.#recent.shift();
    if (this.#recent.length < fewest) return false;
    const recentMs = quartileOf(this.#recent);
    this.#steps += 1;
    this.#usualMs += (recentMs - this.#usualMs) * Math.max(1 / (usualRounds * round), 1 / this.#steps);
    return recentMs > Math.max(this.#usualMs * factor, this.#usualMs + marginMs);
  }

  /** Something was done about it: what is recent begins anew. */
  settle(): void {
    this.#recent = [];
  }
}

function quartileOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}
