// Backoff with full jitter: how long a retry waits, from the number of tries and a unit interval value.

export interface Backoff {
  readonly baseMs: number;
  readonly capMs: number;
  /** No wait is shorter. */
  readonly floorMs: number;
}

/**
 * How long a model, a store or an engine may be away before a trial gives up on it. Its sandbox outlives that
 * (activities/sandbox-lifetime.ts).
 */
export const outageMs = 12 * 60 * 60_000;

/**
 * Tries of one activity, one after the other, before what asks for it gives up its place in the window until the other
 * side is back: with `activityBackoff` about a quarter of a minute.
 */
export const triesInPlace = 6;

/** Between two looks whether a model, a store or an engine that was away is back. */
export const probeBackoff: Backoff = { baseMs: 1_000, capMs: 60_000, floorMs: 500 };

/** Between tries of one activity: a model, store or engine that does not answer. */
export const activityBackoff: Backoff = { baseMs: 1_000, capMs: 300_000, floorMs: 500 };

/**
 * The most that the same activity waits after a delay that the other side asked for: a cluster that has no room says
 * when to look again, and is looked at about that often for as long as it takes.
 */
export const askedBackoff: Backoff = { baseMs: 1_000, capMs: 30_000, floorMs: 0 };

/** Between the generations of one trial: a platform that lost a sandbox needs longer to mend than a server. */
export const generationBackoff: Backoff = { baseMs: 10_000, capMs: 600_000, floorMs: 5_000 };

/**
 * The wait before the next try, in milliseconds: a uniform part of an exponentially growing ceiling.
 * `tries` counts those made (from 1), `unit` lies in [0, 1).
 * Source: Brooker, «Exponential Backoff And Jitter» (2015), full jitter.
 */
export function fullJitterMs(backoff: Backoff, tries: number, unit: number): number {
  const ceilingMs = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.min(tries - 1, 30));
  return Math.round(Math.max(backoff.floorMs, ceilingMs * unit));
}

/** A value in [0, 1) that derives from a name: jitter without randomness (FNV-1a with a final mix, as MurmurHash3). */
export function unitOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const character of name) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
