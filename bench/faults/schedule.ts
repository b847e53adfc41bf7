// Which faults come, in which order and how far apart: decided by the seed alone.
import { chanceOf } from './chance.ts';
import type { Area, FaultRule } from './fault.ts';

export interface ScheduledFault {
  /** From 1. */
  readonly ordinal: number;
  readonly kind: string;
  /** Milliseconds after the beginning of the one before it, at the least. */
  readonly afterMs: number;
}

const gapMs = { least: 1_500, most: 8_500 };

/**
 * So many faults. The first are one of each kind, shuffled, so that a short schedule has as many kinds as it can; after
 * them each kind comes as its weight has it.
 */
export function scheduleOf(kinds: readonly FaultRule[], count: number, seed: number): ScheduledFault[] {
  const chance = chanceOf(`schedule/${seed}`);
  const names = kinds.map(({ name }) => name);
  const byWeight = kinds.flatMap(({ name, weight }) => Array.from({ length: weight }, () => name));
  const drawn = [...chance.shuffle(names)];
  while (drawn.length < count) drawn.push(...chance.shuffle(byWeight));
  return drawn.slice(0, count).map((kind, at) => ({
    ordinal: at + 1,
    kind,
    afterMs: Math.round(chance.between(gapMs.least, gapMs.most)),
  }));
}

/** What may overlap. */
const limits = { cost: 4, lookAhead: 8 };

/**
 * The fault that may begin beside those that last: the first, among the next few, whose area is free and whose cost the
 * machine bears. Null where none may yet.
 */
export function nextFault(
  waiting: readonly ScheduledFault[],
  rules: ReadonlyMap<string, FaultRule>,
  lasting: readonly Pick<FaultRule, 'area' | 'cost'>[],
): ScheduledFault | null {
  const taken = new Set<Area>(lasting.map(({ area }) => area));
  const spent = lasting.reduce((sum, { cost }) => sum + cost, 0);
  const fits = ({ kind }: ScheduledFault): boolean => {
    const rule = rules.get(kind);
    return rule !== undefined && !taken.has(rule.area) && spent + rule.cost <= limits.cost;
  };
  return waiting.slice(0, limits.lookAhead).find(fits) ?? null;
}
