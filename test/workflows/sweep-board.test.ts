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
const away = failureClasses.filter((name) => failureTable[name].retry === 'activity');
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
  /** What whoever is picked is parked for in place of ending, null: it ends. In turn. */
  readonly parks: readonly (FailureClass | null)[];
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
    parks: fc.array(fc.constantFrom(null, null, ...away), { minLength: 1, maxLength: 30 }),
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

const isModels = (name: FailureClass): boolean => failureTable[name].owner === 'model';

/** Plays a sweep to its end, or throws where it stands still. */
function play(script: Script): Play {
  let board = new SweepBoard('s', false, newState(script.shape, script.concurrency));
  const begun = new Map<number, number>();
  let inFlight: Exclude<Start, { kind: 'ask' }>[] = [];
  let mostInFlight = 0;
  for (let turn = 0; ; turn += 1) {
    const wasPaused = board.parking.pausesAll;
    for (let back = board.nextResumed(); back !== null; back = board.nextResumed()) {
      expect(back.goOn).toBe(true);
      const { child } = back;
      inFlight.push(child);
    }
    let begunNow = 0;
    for (let start = board.nextStart(); start !== null; start = board.nextStart()) {
      if (start.kind === 'ask') {
        board.know(start.first + start.count, doneIn(script, start.first, start.count));
        continue;
      }
      board.begin(start);
      begunNow += 1;
      inFlight.push(start);
      if (start.kind === 'trial') begun.set(start.index, (begun.get(start.index) ?? 0) + 1);
    }
    if (board.finished) return { board, begun, mostInFlight };
    expect(wasPaused && begunNow > 0).toBe(false);
    mostInFlight = Math.max(mostInFlight, inFlight.length);
    const pick = (script.picks[turn % script.picks.length] ?? 0) % Math.max(1, inFlight.length);
    const ending = inFlight[pick];
    inFlight = inFlight.filter((_, at) => at !== pick);
    // Whatever is away is back in the end.
    const failureClass = turn < 60 ? (script.parks[turn % script.parks.length] ?? null) : null;
    if (
      ending !== undefined &&
      failureClass !== null &&
      !(ending.kind === 'gate' && isModels(failureClass))
    ) {
      const report = { child: ending, failureClass, message: 'm', waitMs: 1 };
      expect(board.parked(report)).not.toBeUndefined();
      // Said again: no news.
      expect(board.parked(report)).toBeUndefined();
      board.parking.waited(ending);
    } else if (ending?.kind === 'gate') {
      board.gateEnded({ task: ending.task, ended: gateEnd(script.gates[ending.task] ?? 'kept') });
    } else if (ending?.kind === 'trial') {
      const failure = script.ends[(ending.index + turn) % script.ends.length] ?? null;
      const report = { index: ending.index, outcome: outcomeOf(failure), message: null };
      const waitMs = board.trialEnded(report);
      // Told twice, by signal and by handle: the second is no news.
      expect(board.trialEnded(report)).toBeNull();
      if (waitMs !== null) board.waited(ending.index);
    } else if (board.parking.size > 0) {
      for (const [what] of board.parking.paused) board.parking.back(what);
    } else if (board.waiting.length === 0) {
      throw new Error(`the board stands still at ${JSON.stringify(board.snapshot())}`);
    }
    if (turn % script.carryEvery === 0) {
      board = new SweepBoard('s', false, JSON.parse(JSON.stringify(board.snapshot())) as never);
      for (const [index] of board.waiting) board.waited(index);
      for (const [child] of board.parking.waits) board.parking.waited(child);
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
        expect(progress.inFlight + progress.waiting + progress.parked).toBe(0);
        expect(sum(progress.lostGenerations)).toBe(sum(Object.fromEntries(begun)) - begun.size);
      }),
      { numRuns: 300 },
    );
  });

  const twoModels = { tasks: 3, attempts: [2, 2], scaffolds: 1 };

  /** A board of two models whose gates are passed, with its window full of trials. */
  function begunBoard(concurrency: number): SweepBoard {
    const board = new SweepBoard('s', false, { ...newState(twoModels, concurrency), gates: 'kkk' });
    board.know(12, { runs: [], endings: {}, results: {} });
    fill(board);
    return board;
  }

  function fill(board: SweepBoard): number[] {
    const begun: number[] = [];
    for (let start = board.nextStart(); start !== null; start = board.nextStart()) {
      if (start.kind !== 'trial') throw new Error(`a trial was to start, not ${start.kind}`);
      board.begin(start);
      begun.push(start.index);
    }
    return begun;
  }

  const trialChild = (index: number) => ({ kind: 'trial', index }) as const;
  const parkFor = (board: SweepBoard, index: number, failureClass: FailureClass) =>
    board.parked({ child: trialChild(index), failureClass, message: 'gone', waitMs: 5 });

  test('C33: a trial whose model is away leaves its place to those of another model, and its own wait for it', () => {
    const board = begunBoard(2);
    expect(board.trialsInFlight).toEqual([0, 1]);
    expect(trialAt(twoModels, 0).model).toBe(0);
    expect(parkFor(board, 0, 'ModelUnavailable')).toBe(0);
    // Position 2 is the same model's: it is passed over for position 3.
    expect(fill(board)).toEqual([3]);
    expect(board.progress()).toMatchObject({ inFlight: 2, parked: 1, paused: ['gone'] });
    board.parking.waited(trialChild(0));
    expect(board.nextResumed()).toBeNull();
    board.parking.back(0);
    expect(board.nextResumed()).toBeNull();
    board.trialEnded({ index: 1, outcome: outcomeOf(null), message: null });
    expect(board.nextResumed()).toEqual({ child: trialChild(0), goOn: true });
    board.trialEnded({ index: 3, outcome: outcomeOf(null), message: null });
    // What was passed over comes first.
    expect(fill(board)).toEqual([2]);
  });

  test.each(['StoreUnavailable', 'PlatformUnavailable'] as const)('starts nothing while %s lasts', (name) => {
    const board = begunBoard(4);
    parkFor(board, 1, name);
    expect(fill(board)).toEqual([]);
    board.parking.waited(trialChild(1));
    board.parking.back(name === 'StoreUnavailable' ? 'store' : 'platform');
    expect(board.nextResumed()).toEqual({ child: trialChild(1), goOn: true });
    expect(fill(board)).toEqual([]);
    board.trialEnded({ index: 1, outcome: outcomeOf(null), message: null });
    expect(fill(board)).toEqual([4]);
  });

  test('a sweep that is stopped ends what is parked, by what it was parked for', () => {
    const board = begunBoard(2);
    parkFor(board, 0, 'ModelUnavailable');
    board.stop({ failureClass: null, line: 'asked for' });
    expect(board.nextResumed()).toEqual({ child: trialChild(0), goOn: false });
    expect(board.nextResumed()).toBeNull();
    expect(board.finished).toBe(false);
    board.trialEnded({ index: 0, outcome: outcomeOf('ModelUnavailable'), message: null });
    board.trialEnded({ index: 1, outcome: outcomeOf(null), message: null });
    expect(board.finished).toBe(true);
    expect(board.progress()).toMatchObject({ counted: 1, failures: { ModelUnavailable: 1 } });
  });

  test('what ended while it was parked is parked no longer', () => {
    const board = begunBoard(2);
    parkFor(board, 0, 'ModelUnavailable');
    board.trialEnded({ index: 0, outcome: null, message: null });
    expect(board.progress()).toMatchObject({ inFlight: 1, parked: 0, cancelled: 1 });
    expect(parkFor(board, 0, 'ModelUnavailable')).toBeUndefined();
  });

  test('is bounded in what it carries: 36,144 trials of 1,004 tasks under 16 KiB', () => {
    const shape = { tasks: 1_004, attempts: [8, 8, 8, 4, 4, 4], scaffolds: 1 };
    expect(countTrials(shape)).toBe(36_144);
    const board = new SweepBoard('s', false, newState(shape, 500));
    let largest = 0;
    for (let turn = 0; turn < 3_000; turn += 1) {
      // Three of the models are away from here on: their trials are parked, and passed over.
      const [parks] = turn > 1_000 ? board.trialsInFlight : [];
      if (parks !== undefined && trialAt(shape, parks).model < 3) {
        const child = { kind: 'trial', index: parks } as const;
        board.parked({ child, failureClass: 'ModelUnavailable', message: 'm', waitMs: 1 });
      }
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
