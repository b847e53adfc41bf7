// The API server's clock, by what its answers say: times that a cluster wrote are held against no other.

export class ServerClock {
  #aheadMs = 0;

  /** `date`: the header of an answer that has just come, as it is. */
  heard(date: string | string[] | undefined): void {
    const toldMs = Date.parse(String(date));
    if (Number.isFinite(toldMs)) this.#aheadMs = toldMs - Date.now();
  }

  /** Milliseconds since 1970, to the second; by our own clock before anything was heard. */
  nowMs(): number {
    return Date.now() + this.#aheadMs;
  }
}
