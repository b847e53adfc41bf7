// Which replica a session prefers: always the same, spread evenly, and moved as little as can be.
import { expect, it } from 'vitest';
import { preferenceOf } from '../../model/rendezvous.ts';

const members = ['http://a:8000/v1', 'http://b:8000/v1', 'http://c:8000/v1', 'http://d:8000/v1'];
const sessions = Array.from(
  { length: 4_000 },
  (_, n) => `nightly/task-${n % 250}/model/terminus-2/${Math.floor(n / 250) + 1}/1/main`,
);
const order = (session: string, of = members): string[] => preferenceOf(session, of, (name) => name);

it('is the same in whatever order the members are named', () => {
  for (const session of sessions.slice(0, 100)) {
    expect(order(session, members.toReversed())).toEqual(order(session));
  }
});

it('spreads the sessions of a sweep evenly', () => {
  const counts = new Map<string, number>();
  for (const session of sessions) {
    const [first = ''] = order(session);
    counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  for (const member of members) {
    expect(counts.get(member)).toBeGreaterThan(850);
    expect(counts.get(member)).toBeLessThan(1_150);
  }
});

it('moves only the sessions of a member that leaves, each to its next', () => {
  const left = members.slice(1);
  for (const session of sessions) {
    expect(order(session, left)).toEqual(order(session).filter((name) => name !== members[0]));
  }
});
