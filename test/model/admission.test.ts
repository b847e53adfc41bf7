// Who is let in to one replica: what finds out whether it is back waits for nobody, and one try is one request.
import { beforeEach, describe, expect, it } from 'vitest';
import { Admission, type Admitted } from '../../model/admission.ts';
import { ModelTrouble } from '../../model/trouble.ts';

let nowMs: number;
let opened: (number | null)[];
let admission: Admission;
beforeEach(() => {
  nowMs = 0;
  opened = [];
  admission = new Admission({
    maximum: 2,
    onCircuit: ({ openMs }) => opened.push(openMs),
    nowMs: () => nowMs,
    unit: () => 1,
  });
});
const away = new ModelTrouble('away', 'HTTP 500');
const refused = new ModelTrouble('away', 'connection refused', { cause: new Error('ECONNREFUSED') });
const soon = <T>(promise: Promise<T>): Promise<T | 'waits'> =>
  Promise.race([promise, new Promise<'waits'>((resolve) => setTimeout(() => resolve('waits'), 20))]);
const open = async (): Promise<void> => {
  for (let n = 0; n < 5; n += 1) (await admission.enter()).failed(refused, 's');
  expect(opened).toEqual([2_000]);
};

describe('a request that is to find out whether a server is back', () => {
  it('is let in at once, though the server has as many as it takes and others wait', async () => {
    await admission.enter();
    await admission.enter();
    const waiting = admission.enter();
    expect(await soon(admission.enter(undefined, true))).not.toBe('waits');
    expect(await soon(waiting)).toBe('waits');
  });

  it('takes no place of those who wait', async () => {
    const first = await admission.enter();
    await admission.enter();
    const waiting = admission.enter();
    const probe = await admission.enter(undefined, true);
    probe.dropped();
    expect(await soon(waiting)).toBe('waits');
    first.answered(10);
    expect(await soon(waiting)).not.toBe('waits');
  });

  it('leaves the try to the request that has it', async () => {
    await open();
    nowMs = 2_000;
    const attempt = await admission.enter();
    const probe = await admission.enter(undefined, true);
    probe.failed(away, 'probe');
    expect(opened).toEqual([2_000]);
    expect(admission.left).not.toBeNull();
    attempt.failed(away, 's');
    expect(opened).toEqual([2_000, 4_000]);
  });
});

describe('the try of an open circuit', () => {
  it('is not ended by a request from before', async () => {
    const old = await admission.enter();
    await open();
    nowMs = 2_000;
    const attempt = await admission.enter();
    old.failed(away, 'old');
    expect(opened).toEqual([2_000]);
    await expect(admission.enter()).rejects.toThrow('asked again in 1 s');
    attempt.dropped();
    expect(admission.left).toBeNull();
  });
});

it('counts what one session alone brings about as nothing of the server, but for connections that are refused', async () => {
  const failing = async (error: Error, session: string): Promise<void> => {
    const admitted: Admitted = await admission.enter();
    admitted.failed(error, session);
  };
  for (let n = 0; n < 20; n += 1) await failing(away, 'poison');
  expect(opened).toEqual([]);
  await failing(away, 'another');
  expect(opened).toEqual([2_000]);
});
