// X-Session-ID: read exactly, refused in one clear line.
import { describe, expect, it } from 'vitest';
import { readSession } from '../../instruments/known-rate/session.ts';

describe('readSession', () => {
  it('reads the seven parts of a trial’s identity', () => {
    expect(readSession('s1/org--t/known-rate-0.5/terminus-2/03/2/_setup')).toEqual({
      sweep: 's1',
      task: 'org--t',
      model: 'known-rate-0.5',
      scaffold: 'terminus-2',
      attempt: 3,
      generation: 2,
      step: '_setup',
    });
  });

  it('says that the header is missing, and what it should hold', () => {
    expect(readSession(undefined)).toMatch(/X-Session-ID is missing.*SWEEP\/TASK/);
  });

  it.each([
    's/t/m/c/1/1',
    's/t/m/c/1/1/main/more',
    's//m/c/1/1/main',
    's/t/m/c/0/1/main',
    's/t/m/c/1/x/main',
    's/t/m/c/1.5/1/main',
    's/t t/m/c/1/1/main',
    '',
  ])('refuses %j in one line', (header) => {
    const message = readSession(header);
    expect(message).toEqual(expect.stringContaining('X-Session-ID'));
    expect(message).not.toContain('\n');
  });
});
