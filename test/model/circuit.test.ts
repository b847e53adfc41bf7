// A replica's circuit over its life, with a clock of its own.
import { beforeEach, describe, expect, it } from 'vitest';
import { Circuit } from '../../model/circuit.ts';

let nowMs: number;
let unit: number;
let changes: (number | null)[];
let circuit: Circuit;
beforeEach(() => {
  nowMs = 0;
  unit = 1;
  changes = [];
  circuit = new Circuit({ nowMs: () => nowMs, unit: () => unit, onChange: (openMs) => changes.push(openMs) });
});
/** So many failures, of one session after the other. */
const fail = (times: number, session?: string | null): void => {
  for (let n = 0; n < times; n += 1)
    circuit.failed({ session: session === undefined ? `s/${n}` : session, grave: false });
};

describe('a closed circuit', () => {
  it('opens after five failures in a row, and not where an answer came between', () => {
    fail(4);
    circuit.answered();
    fail(4);
    expect(circuit.leftMs).toBe(0);
    fail(1);
    expect(circuit.leftMs).toBe(2_000);
    expect(changes).toEqual([2_000]);
  });

  it('opens after one failure that is grave', () => {
    circuit.failed({ session: 's', grave: true });
    expect(circuit.leftMs).toBeGreaterThan(0);
  });

  it('stays closed by failures of one session alone, for they may lie in what it asks', () => {
    fail(50, 'poison');
    expect(circuit.closed).toBe(true);
    fail(1, 'another');
    expect(circuit.closed).toBe(false);
  });

  it('opens by failures that lie in no request, whoever asks', () => {
    fail(4, null);
    expect(circuit.closed).toBe(true);
    fail(1, null);
    expect(circuit.closed).toBe(false);
  });

  it('counts replies that begin and break, one after the other', () => {
    for (let n = 0; n < 5; n += 1) {
      circuit.began();
      circuit.failed({ session: `s/${n}`, grave: false });
    }
    expect(circuit.closed).toBe(false);
  });
});

describe('an open circuit', () => {
  it('waits between a half and the whole of its time, by jitter', () => {
    unit = 0;
    fail(5);
    expect(circuit.leftMs).toBe(1_000);
  });

  it('lets one request try when its time is over, and tells others to wait meanwhile', () => {
    fail(5);
    nowMs = 2_000;
    expect(circuit.leftMs).toBe(0);
    circuit.try();
    expect(circuit.leftMs).toBeGreaterThan(0);
  });

  it('closes by the first token of that request', () => {
    fail(5);
    nowMs = 2_000;
    circuit.try();
    circuit.began();
    expect(circuit.leftMs).toBe(0);
    expect(changes).toEqual([2_000, null]);
    fail(4);
    expect(circuit.closed).toBe(true);
  });

  it('stays open for longer each time that the try fails, up to a bound', () => {
    fail(5);
    const waits: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      nowMs += circuit.leftMs;
      circuit.failed({ session: 's', grave: false, attempt: circuit.try() });
      waits.push(circuit.leftMs);
    }
    expect(waits).toEqual([4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('is not moved by failures of requests from before', () => {
    fail(5);
    fail(20);
    expect(changes).toEqual([2_000]);
  });

  it('lets another request try where the first was ended by its caller', () => {
    fail(5);
    nowMs = 2_000;
    circuit.dropped(circuit.try());
    expect(circuit.leftMs).toBe(0);
  });

  it('is not moved by failures of requests from before while one tries', () => {
    fail(5);
    nowMs = 2_000;
    circuit.try();
    circuit.failed({ session: 'old', grave: true });
    expect(changes).toEqual([2_000]);
    expect(circuit.leftMs).toBeGreaterThan(0);
  });

  it('is tried by one at a time: another that passes all the same ends nothing for it', () => {
    fail(5);
    nowMs = 2_000;
    const attempt = circuit.try();
    circuit.dropped(circuit.try());
    expect(circuit.leftMs).toBeGreaterThan(0);
    circuit.failed({ session: 's', grave: false, attempt });
    expect(changes).toEqual([2_000, 4_000]);
  });

  it('keeps its try though an earlier one, which it outlived, ends later', () => {
    fail(5);
    nowMs = 2_000;
    const first = circuit.try();
    circuit.answered();
    fail(5);
    nowMs += circuit.leftMs;
    circuit.try();
    circuit.dropped(first);
    circuit.failed({ session: 's', grave: true, attempt: first });
    expect(changes).toEqual([2_000, null, 2_000]);
    expect(circuit.leftMs).toBeGreaterThan(0);
  });
});
