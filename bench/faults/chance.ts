// Seeded choices: the same name gives the same sequence, whatever else happens beside it.
import { unitOf } from '../../domain/backoff.ts';

export interface Chance {
  /** The next value in [0, 1). */
  unit(): number;
  /** A value from `least` to below `most`. */
  between(least: number, most: number): number;
  /** True once in so many times. */
  oneIn(times: number): boolean;
  /** One of the items; undefined of none. */
  pick<T>(items: readonly T[]): T | undefined;
  /** The items in another order. */
  shuffle<T>(items: readonly T[]): readonly T[];
}

/** A sequence of its own for each name. */
export function chanceOf(name: string): Chance {
  let drawn = 0;
  const unit = (): number => {
    drawn += 1;
    return unitOf(`${name}/${drawn}`);
  };
  return {
    unit,
    between: (least, most) => least + unit() * (most - least),
    oneIn: (times) => unit() < 1 / times,
    pick: (items) => items[Math.floor(unit() * items.length)],
    shuffle: (items) =>
      items
        .map((item) => ({ item, rank: unit() }))
        .sort((a, b) => a.rank - b.rank)
        .map(({ item }) => item),
  };
}
