// What flags hold: parsed once, refused in one line.
import { InvalidArgumentError } from 'commander';

/** Parses a flag that counts something: an integer from 1. */
export function positiveInt(value: string): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(number) || number < 1) {
    throw new InvalidArgumentError('it takes a whole number from 1.');
  }
  return number;
}

/** A rate as people read it: three decimals, or a dash where nothing was counted. */
export const rateText = (rate: number | null): string => (rate === null ? '–' : rate.toFixed(3));

/** A flag that may be repeated. */
export const collect = (value: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  value,
];
