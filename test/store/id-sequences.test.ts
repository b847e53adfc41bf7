// Sequences from records: the ids of an episode as they were, from break to break.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { idSequences } from '../../store/id-sequences.ts';
import { replyRecords } from '../support/reply-records.ts';

const sequences = (...turns: Parameters<typeof replyRecords>[0]) => [
  ...idSequences(replyRecords(turns), 'there'),
];

it('an episode whose prompts extend each other is one sequence', () => {
  const found = sequences(
    { prompt: [1, 2], completion: [3, 4] },
    { prompt: [1, 2, 3, 4, 5], completion: [6] },
  );
  expect(found).toMatchObject([
    {
      ids: [1, 2, 3, 4, 5, 6],
      brokenBy: null,
      sampled: [
        { call: 0, from: 2, ids: [3, 4] },
        { call: 1, from: 5, ids: [6] },
      ],
    },
  ]);
});

it('a break ends one and begins the next, with the prompt as it was', () => {
  const found = sequences(
    { prompt: [1, 2], completion: [3, 4] },
    { prompt: [1, 2, 4, 5], completion: [6] },
    { prompt: [1, 2, 4, 5, 6, 7], completion: [8] },
  );
  expect(found.map(({ ids }) => ids)).toEqual([
    [1, 2, 3, 4],
    [1, 2, 4, 5, 6, 7, 8],
  ]);
  expect(found[1]).toMatchObject({
    brokenBy: { call: 1, index: 2, cause: 'history-changed' },
    sampled: [
      { call: 1, from: 4 },
      { call: 2, from: 6 },
    ],
  });
});

it('a reply without ids is in none, and what stands in prompts alone is no sequence', () => {
  expect(sequences({ prompt: [1, 2], completion: null })).toEqual([]);
  const [only] = sequences({ prompt: [1, 2], completion: null }, { prompt: [1, 2, 3], completion: [4] });
  expect(only).toMatchObject({ ids: [1, 2, 3, 4], sampled: [{ call: 1, from: 3, ids: [4] }] });
});

it('records of which one is missing are refused', () => {
  const [first, second, third] = replyRecords([
    { prompt: [1, 2], completion: [3] },
    { prompt: [1, 2, 3, 4], completion: [5] },
    { prompt: [1, 2, 3, 4, 5, 6], completion: [7] },
  ]);
  const left = [first, third].flatMap((record) => record ?? []);
  expect(second).toBeDefined();
  expect(() => [...idSequences(left, 'there')]).toThrow(/^there: the prompt of reply 2 .*checksum/);
});

it('every sampled id is in one sequence, after exactly what it followed', () => {
  const ids = fc.array(fc.nat(5), { maxLength: 8 });
  const turns = fc.array(fc.record({ prompt: ids, completion: ids }), { maxLength: 6 });
  fc.assert(
    fc.property(turns, (said) => {
      const sampled = sequences(...said).flatMap(({ ids: all, sampled: own }) =>
        own.map(({ call, from, ids: completion }) => ({
          call,
          prompt: all.slice(0, from),
          completion: all.slice(from, from + completion.length),
        })),
      );
      expect(sampled).toEqual(said.map((one, call) => ({ call, ...one })));
    }),
  );
});
