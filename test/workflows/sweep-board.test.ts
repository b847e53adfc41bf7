// The sweep's book, played through without a server: whatever happens, every trial is accounted for once.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failureClasses, failureTable, rejectionReasons, type FailureClass } from '../../domain/failures.ts';
import { countTrials, trialAt, type PlanShape } from '../../domain/order.ts';
import { markOf, readMark } from '../../workflows/gate-marks.ts';
import type { GateReport } from '../../workflows/reports.ts';
import { SweepBoard, type Start } from '../../workflows/sweep-board.ts';
import { newState } from '../../workflows/sweep-state.ts';

const shapes = fc.record({
  tasks: fc.integer({ min: 1, max: 12 }),
  attempts: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
  scaffolds: fc.integer({ min: 1, max: 2 }),
});

type GateFate = 'kept' | 'rejected' | 'unformed';
const harmless = failureClasses.filter((name) => !failureTable[name].stopsSweep);

interface Play {
  readonly board: SweepBoard;
  /** Generations that were begun, by trial. */
  readonly begun: ReadonlyMap<number, number>;
  readonly mostInFlight: number;
}

interface Script {
  readonly shape: PlanShape;
  readonly concurrency: number;
  readonly gates: readonly GateFate[];
  /** Positions that have their verdict at the start. */
  readonly done: ReadonlySet<number>;
  /** What each generation of a trial ends with, null: a verdict. In turn. */
  readonly ends: readonly (FailureClass | null)[];
  /** Which of those in flight ends next. In turn. */
  readonly picks: readonly number[];
  /** Every so many ends the board is carried over to a new one. */
  readonly carryEvery: number;
}

const scripts: fc.Arbitrary<Script> = shapes.chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    concurrency: fc.integer({ min: 1, max: 7 }),
    gates: fc.array(fc.constantFrom<GateFate>('kept', 'kept', 'kept', 'rejected', 'unformed'), {
      minLength: shape.tasks,
      maxLength: shape.tasks,
    }),
    done: fc.uniqueArray(fc.integer({ min: 0, max: countTrials(shape) - 1 })).map((list) => new Set(list)),
    ends: fc.array(fc.constantFrom(null, null, null, ...harmless), { minLength: 1, maxLength: 30 }),
    picks: fc.array(fc.nat(50), { minLength: 1, maxLength: 30 }),
    carryEvery: fc.integer({ min: 1, max: 9 }),
  }),
);

function doneIn(script: Script, first: number, count: number) {
  const runs: [number, number][] = [];
  for (let index = first; index < first + count; index += 1) {
    if (!script.done.has(index)) continue;
    const last = runs.at(-1);
    if (last !== undefined && last[0] + last[1] === index) last[1] += 1;
    else runs.push([index, 1]);
  }
  return { runs, endings: {}, results: {} };
}

function gateEnd(fate: GateFate): GateReport['ended'] {
  switch (fate) {
    case 'kept':
      return { kind: 'formed', summary: { outcome: 'kept', reason: null } };
    case 'rejected':
      return { kind: 'formed', summary: { outcome: 'rejected', reason: 'nop-passes' } };
    case 'unformed':
      return { kind: 'unformed', failureClass: 'ImagePullTransient', message: 'm' };
  }
}

function outcomeOf(failure: FailureClass | null) {
  return failure === null
    ? ({ counts: true, ending: 'completed', result: 'passed', failure, generations: 1 } as const)
    : ({ counts: false, ending: null, result: null, failure, generations: 1 } as const);
}

/** Plays a sweep to its end, or throws where it stands still. */
function play(script: Script): Play {
  let board = new SweepBoard('s', false, newState(script.shape, script.concurrency));
  const begun = new Map<number, number>();
  let inFlight: Start[] = [];
  let mostInFlight = 0;
  for (let turn = 0; ; turn += 1) {
    for (let start = board.nextStart(); start !== null; start = board.nextStart()) {
      if (start.kind === 'ask') {
        board.know(start.first + start.count, doneIn(script, start.first, start.count));
        continue;
      }
      board.begin(start);
      inFlight.push(start);
      if (start.kind === 'trial') begun.set(start.index, (begun.get(start.index) ?? 0) + 1);
    }
    if (board.finished) return { board, begun, mostInFlight };
    mostInFlight = Math.max(mostInFlight, inFlight.length);
    const pick = (script.picks[turn % script.picks.length] ?? 0) % Math.max(1, inFlight.length);
    const ending = inFlight[pick];
    inFlight = inFlight.filter((_, at) => at !== pick);
    if (ending?.kind === 'gate') {
      board.gateEnded({ task: ending.task, ended: gateEnd(script.gates[ending.task] ?? 'kept') });
    } else if (ending?.kind === 'trial') {
      const failure = script.ends[(ending.index + turn) % script.ends.length] ?? null;
      const report = { index: ending.index, outcome: outcomeOf(failure), message: null };
      const waitMs = board.trialEnded(report);
      // Told twice, by signal and by handle: the second is no news.
      expect(board.trialEnded(report)).toBeNull();
      if (waitMs !== null) board.waited(ending.index);
    } else if (board.waiting.length === 0) {
      throw new Error(`the board stands still at ${JSON.stringify(board.snapshot())}`);
    }
    if (turn % script.carryEvery === 0) {
      board = new SweepBoard('s', false, JSON.parse(JSON.stringify(board.snapshot())) as never);
      for (const [index] of board.waiting) board.waited(index);
    }
  }
}

const sum = (counts: Readonly<Partial<Record<string, number>>>): number =>
  Object.values(counts).reduce<number>((total, count) => total + (count ?? 0), 0);

describe('the book of a sweep', () => {
  test('accounts for every planned trial once, whatever ends how and however often it is carried over', () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const { board, begun, mostInFlight } = play(script);
        const progress = board.progress();
        expect(mostInFlight).toBeLessThanOrEqual(script.concurrency);
        for (const index of begun.keys()) {
          expect(script.done.has(index)).toBe(false);
          expect(script.gates[trialAt(script.shape, index).task]).toBe('kept');
        }
        const trials = Array.from({ length: countTrials(script.shape) }, (_, index) => index);
        const fateOf = (index: number): GateFate => script.gates[trialAt(script.shape, index).task] ?? 'kept';
        // A verdict that is there counts, whatever a later gate would say; its task's gate is then not asked for it.
        const asked = trials.filter((index) => !script.done.has(index));
        const unformed = asked.filter((index) => fateOf(index) === 'unformed').length;
        const kept = asked.filter((index) => fateOf(index) === 'kept').length;
        expect(begun.size).toBe(kept);
        expect(progress.counted + sum(progress.failures)).toBe(script.done.size + kept + unformed);
        expect(progress.inFlight + progress.waiting).toBe(0);
        expect(sum(progress.lostGenerations)).toBe(sum(Object.fromEntries(begun)) - begun.size);
      }),
      { numRuns: 300 },
    );
  });

  test('is bounded in what it carries: 36,144 trials of 1,004 tasks under 16 KiB', () => {
    const shape = { tasks: 1_004, attempts: [8, 8, 8, 4, 4, 4], scaffolds: 1 };
    expect(countTrials(shape)).toBe(36_144);
    const board = new SweepBoard('s', false, newState(shape, 500));
    let largest = 0;
    for (let turn = 0; turn < 3_000; turn += 1) {
      for (let start = board.nextStart(); start !== null; start = board.nextStart()) {
        if (start.kind === 'ask')
          board.know(start.first + start.count, { runs: [], endings: {}, results: {} });
        else board.begin(start);
      }
      const [task] = board.gatesInFlight;
      if (task !== undefined) board.gateEnded({ task, ended: gateEnd(task % 2 === 0 ? 'kept' : 'rejected') });
      const [index] = board.trialsInFlight;
      if (index !== undefined)
        board.trialEnded({ index, outcome: outcomeOf(turn % 9 === 0 ? 'SandboxLost' : null), message: null });
      if (turn % 100 === 0) largest = Math.max(largest, Buffer.byteLength(JSON.stringify(board.snapshot())));
    }
    expect(largest).toBeLessThan(16 * 1024);
  });

  test('marks read back as they were written, each its own', () => {
    const ended: GateReport['ended'][] = [
      { kind: 'cancelled' },
      { kind: 'formed', summary: { outcome: 'kept', reason: null } },
      { kind: 'formed', summary: { outcome: 'unaudited', reason: null } },
      ...rejectionReasons.map((reason): GateReport['ended'] => ({
        kind: 'formed',
        summary: { outcome: 'rejected', reason },
      })),
      ...failureClasses.map((failureClass): GateReport['ended'] => ({
        kind: 'unformed',
        failureClass,
        message: '',
      })),
    ];
    const marks = ended.map(markOf);
    expect(new Set(marks).size).toBe(marks.length);
    for (const reason of rejectionReasons) {
      const mark = markOf({ kind: 'formed', summary: { outcome: 'rejected', reason } });
      expect(readMark(mark)).toEqual({ kind: 'rejected', reason });
    }
    for (const failureClass of failureClasses) {
      expect(readMark(markOf({ kind: 'unformed', failureClass, message: '' }))).toEqual({
        kind: 'unformed',
        failureClass,
      });
    }
    expect(() => readMark('?')).toThrow(RangeError);
  });
});
