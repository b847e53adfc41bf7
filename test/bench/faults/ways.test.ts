// How models fail in a bench: as their intents draw it, unless a fault asks the next one for a limit of its sandbox.
import { describe, expect, it } from 'vitest';
import { nameOfTrial, Ways } from '../../../bench/faults/ways.ts';
import { failurePlanOf, intentOf, type Intent } from '../../../instruments/known-rate/intent.ts';
import { nearTask, plainTask } from '../../instruments/known-data.ts';

const seed = 5;
const signal = new AbortController().signal;
const ways = (): Ways => new Ways({ seed, tasks: [plainTask, nearTask], patient: ['near'] });
const intent = (task: string, attempt: number, model = 'known-rate-0'): Intent =>
  intentOf(seed, model, task, attempt);

describe('Ways', () => {
  it('leaves ways as they are drawn, but for tasks that nobody waits for', () => {
    const own = ways();
    expect(own.choose('s', intent('plain', 1))).toBeNull();
    expect(own.wayOf('s', intent('plain', 1))).toBe(failurePlanOf(intent('plain', 1), plainTask)?.way);
    expect(own.choose('s', intent('near', 1))).toBe('gives-up-early');
    expect(own.wayOf('s', intent('near', 1))).toBe('gives-up-early');
  });

  it('gives a way that is asked for to the next trial that begins and fails, for good', async () => {
    const own = ways();
    own.choose('s', intent('plain', 1));
    const granted = own.next('eats-memory', null, signal);
    expect(own.choose('s', intent('plain', 1))).toBeNull();
    expect(own.choose('s', intent('plain', 2, 'known-rate-1'))).toBeNull();
    expect(own.choose('s', intent('plain', 2))).toBe('eats-memory');
    expect(await granted).toBe(nameOfTrial('s', intent('plain', 2)));
    expect(own.choose('s', intent('plain', 3))).toBeNull();
    expect(own.choose('s', intent('plain', 2))).toBe('eats-memory');
    expect(own.choose('other', intent('plain', 2))).toBeNull();
    expect(own.wayOf('s', intent('plain', 2))).toBe('eats-memory');
  });

  it('waits for a trial of the tasks that are named', async () => {
    const own = ways();
    const granted = own.next('fills-disk', ['near'], signal);
    expect(own.choose('s', intent('plain', 1))).toBeNull();
    expect(own.choose('s', intent('near', 4))).toBe('fills-disk');
    expect(await granted).toBe('s/near/known-rate-0/terminus-2/04');
  });

  it('gives up the wish when it is told to', async () => {
    const own = ways();
    const stop = new AbortController();
    const granted = own.next('fills-disk', null, stop.signal);
    stop.abort(new Error('over'));
    await expect(granted).rejects.toThrow('over');
    expect(own.choose('s', intent('plain', 1))).toBeNull();
  });
});
