// How many requests a replica gets: the queue's order, and what moves the limit.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Limiter } from '../../model/limiter.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});
const limiterOf = (maximum: number): Limiter => new Limiter(maximum, () => Date.now());

/** Enters as many as there are, and answers who is in, in order. */
function crowd(
  limiter: Limiter,
  names: string[],
  signal?: AbortSignal,
): { in: string[]; refused: unknown[] } {
  const seen = { in: [] as string[], refused: [] as unknown[] };
  for (const name of names) {
    limiter.enter(signal).then(
      () => seen.in.push(name),
      (error: unknown) => seen.refused.push(error),
    );
  }
  return seen;
}
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

/** Rounds that fill the limit, each answer with a first token of its own. */
async function steadily(limiter: Limiter, rounds: number, firstTokenMs: () => number): Promise<void> {
  for (let n = 0; n < rounds; n += 1) {
    const crowdSize = limiter.limit;
    for (let at = 0; at < crowdSize; at += 1) await limiter.enter();
    const begunAtMs = Date.now();
    await vi.advanceTimersByTimeAsync(10);
    for (let at = 0; at < crowdSize; at += 1) {
      limiter.answered(begunAtMs, firstTokenMs());
      limiter.leave();
    }
  }
}

/** One request at a time, from its beginning to its answer after `ms`. */
async function answer(limiter: Limiter, ms: number, others = 0): Promise<void> {
  for (let n = 0; n <= others; n += 1) await limiter.enter();
  const begunAtMs = Date.now();
  await vi.advanceTimersByTimeAsync(ms);
  for (let n = 0; n <= others; n += 1) limiter.answered(begunAtMs, ms);
  for (let n = 0; n <= others; n += 1) limiter.leave();
}

describe('the queue', () => {
  it('is first come, first served', async () => {
    const limiter = limiterOf(2);
    const seen = crowd(limiter, ['a', 'b', 'c', 'd']);
    await settle();
    expect(seen.in).toEqual(['a', 'b']);
    limiter.leave();
    await settle();
    const later = crowd(limiter, ['e']);
    limiter.leave();
    await settle();
    expect([seen.in, later.in]).toEqual([['a', 'b', 'c', 'd'], []]);
  });

  it('is left at once by whoever is aborted, and the others move up', async () => {
    const limiter = limiterOf(1);
    const controller = new AbortController();
    const first = crowd(limiter, ['a']);
    const second = crowd(limiter, ['b'], controller.signal);
    const third = crowd(limiter, ['c']);
    controller.abort(new Error('never mind'));
    await settle();
    expect(second.refused).toEqual([new Error('never mind')]);
    limiter.leave();
    await settle();
    expect([first.in, second.in, third.in]).toEqual([['a'], [], ['c']]);
  });

  it('waits while the server asked to be left alone, and goes on by itself', async () => {
    const limiter = limiterOf(4);
    limiter.hold(5_000);
    const seen = crowd(limiter, ['a', 'b']);
    await vi.advanceTimersByTimeAsync(4_900);
    expect(seen.in).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(seen.in).toEqual(['a', 'b']);
  });

  it('is emptied where there is no use in waiting', async () => {
    const limiter = limiterOf(1);
    const seen = crowd(limiter, ['a', 'b', 'c']);
    limiter.refuse('gone');
    await settle();
    expect(seen).toEqual({ in: ['a'], refused: ['gone', 'gone'] });
    expect(limiter.waiting).toBe(0);
  });
});

describe('the limit', () => {
  it('halves what is in flight after a refusal, once for all that were sent before it', async () => {
    const limiter = limiterOf(1_000);
    crowd(limiter, Array.from({ length: 40 }, String));
    await settle();
    const begunAtMs = Date.now();
    await vi.advanceTimersByTimeAsync(100);
    for (let n = 0; n < 10; n += 1) limiter.overloaded(begunAtMs);
    expect(limiter.limit).toBe(20);
  });

  it('grows by one for each round of whole answers that met it', async () => {
    const limiter = limiterOf(1_000);
    crowd(limiter, Array.from({ length: 8 }, String));
    await settle();
    limiter.overloaded(Date.now());
    for (let n = 0; n < 8; n += 1) limiter.leave();
    expect(limiter.limit).toBe(4);
    await vi.advanceTimersByTimeAsync(10);
    await answer(limiter, 100, 3);
    await answer(limiter, 100, 3);
    expect(limiter.limit).toBe(5);
  });

  it('does not grow where nothing meets it, nor over its maximum', async () => {
    const idle = limiterOf(1_000);
    const before = idle.limit;
    for (let n = 0; n < 50; n += 1) await answer(idle, 10);
    expect(idle.limit).toBe(before);
    const small = limiterOf(2);
    for (let n = 0; n < 50; n += 1) await answer(small, 10, 1);
    expect(small.limit).toBe(2);
  });

  it('is never under one', async () => {
    const limiter = limiterOf(8);
    for (let n = 0; n < 10; n += 1) {
      await limiter.enter();
      await vi.advanceTimersByTimeAsync(10);
      limiter.overloaded(Date.now());
      limiter.leave();
    }
    expect(limiter.limit).toBe(1);
  });

  it('shrinks where first tokens come much later than they use to, and is left alone where they always did', async () => {
    const limiter = limiterOf(16);
    for (let n = 0; n < 10; n += 1) await answer(limiter, 300, 15);
    expect(limiter.limit).toBe(16);
    for (let n = 0; n < 3; n += 1) await answer(limiter, 4_000, limiter.limit - 1);
    expect(limiter.limit).toBeLessThan(14);
    const slow = limiterOf(16);
    for (let n = 0; n < 20; n += 1) await answer(slow, 4_000, 15);
    expect(slow.limit).toBe(16);
  });

  it.each<[string, (unit: number) => number]>([
    ['one in twenty is a cold prefill', (unit) => (unit < 0.05 ? 5_000 : 150)],
    ['one in ten is a compaction', (unit) => (unit < 0.1 ? 3_000 : 150)],
    ['two in five are cold', (unit) => (unit < 0.4 ? 5_000 : 150)],
    ['they are spread wide', (unit) => 400 * Math.exp(1.2 * Math.tan(2.6 * (unit - 0.5)))],
  ])('is not shrunk by first tokens of which some always come late: %s', async (_, firstTokenMs) => {
    const limiter = limiterOf(160);
    let state = 1;
    const unit = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    let least = limiter.limit;
    for (let n = 0; n < 60; n += 1) {
      await steadily(limiter, 5, () => firstTokenMs(unit()));
      least = Math.min(least, limiter.limit);
    }
    expect(least).toBeGreaterThanOrEqual(128);
  });

  it('shrinks to about what the server has places for, where whatever is over that waits there', async () => {
    const limiter = limiterOf(128);
    for (let n = 0; n < 20; n += 1) await answer(limiter, 150, 31);
    const waitMs = (n: number): number => 150 + Math.max(0, (n - 48) / 48) * 8_000;
    for (let n = 0; n < 12; n += 1) await answer(limiter, waitMs(limiter.limit), limiter.limit - 1);
    expect(limiter.limit).toBeLessThan(80);
    expect(limiter.limit).toBeGreaterThan(30);
  });

  it('is shrunk by slowness once a round, and does not grow meanwhile', async () => {
    const limiter = limiterOf(100);
    for (let n = 0; n < 10; n += 1) await answer(limiter, 150, 99);
    await answer(limiter, 5_000, 99);
    expect(limiter.limit).toBe(80);
    for (let n = 0; n < 79; n += 1) await limiter.enter();
    const begunAtMs = Date.now();
    for (let n = 0; n < 79; n += 1) limiter.answered(begunAtMs, 5_000);
    expect(limiter.limit).toBe(80);
    limiter.answered(begunAtMs, 5_000);
    expect(limiter.limit).toBe(64);
  });

  it('is not taken away by slowness that a few requests meet: they did not bring it about', async () => {
    const limiter = limiterOf(128);
    for (let n = 0; n < 200; n += 1) await answer(limiter, 60);
    for (let n = 0; n < 400; n += 1) await answer(limiter, 2_000);
    expect(limiter.limit).toBeGreaterThan(64);
  });

  it('follows first tokens that come later bit by bit, as prompts grow', async () => {
    const limiter = limiterOf(16);
    for (let n = 0; n < 60; n += 1) await answer(limiter, 200 + n * 20, 15);
    expect(limiter.limit).toBe(16);
  });

  it('is shrunk by slowness alone to no less than a few', async () => {
    const limiter = limiterOf(16);
    for (let n = 0; n < 10; n += 1) await answer(limiter, 100, 15);
    for (let n = 0; n < 60; n += 1) await answer(limiter, 20_000 * (n + 1), limiter.limit - 1);
    expect(limiter.limit).toBeGreaterThanOrEqual(4);
  });
});
