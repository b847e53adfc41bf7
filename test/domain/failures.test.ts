// The table of failures, as docs/failures.md and the workflows rely on it.
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { activityBackoff, fullJitterMs, generationBackoff, unitOf } from '../../domain/backoff.ts';
import {
  endings,
  failedDetails,
  failureClasses,
  failureClassOf,
  failureTable,
  rejectionReasons,
  results,
} from '../../domain/failures.ts';

describe('the failure table', () => {
  it('calls whatever is not listed Unexpected, and nothing inherited by a name', () => {
    expect(failureClassOf('SandboxLost')).toBe('SandboxLost');
    for (const name of ['toString', 'constructor', '', null, undefined, 'TimeoutError']) {
      expect(failureClassOf(name)).toBe('Unexpected');
    }
  });

  it('stops a sweep for what an operator must mend, and for nothing else', () => {
    for (const name of failureClasses) {
      expect(failureTable[name].stopsSweep).toBe(failureTable[name].owner === 'operator');
    }
  });

  it('is written out whole in docs/failures.md', async () => {
    const page = await readFile(new URL('../../docs/failures.md', import.meta.url), 'utf8');
    const atReading = ['invalid', 'duplicate'];
    const reasons = rejectionReasons.filter((reason) => !atReading.includes(reason));
    for (const name of [...endings, ...results, ...failedDetails, ...failureClasses, ...reasons]) {
      expect(page).toContain(`\`${name}\``);
    }
  });
});

describe('C36: backoff', () => {
  it.each([activityBackoff, generationBackoff])('grows to its cap and keeps above its floor', (backoff) => {
    const ceilings = Array.from({ length: 40 }, (_, tries) => fullJitterMs(backoff, tries + 1, 0.999999));
    expect(ceilings).toEqual([...ceilings].sort((a, b) => a - b));
    expect(ceilings.at(-1)).toBeGreaterThan(0.999 * backoff.capMs);
    expect(ceilings.at(-1)).toBeLessThanOrEqual(backoff.capMs);
    expect(fullJitterMs(backoff, 5, 0)).toBe(backoff.floorMs);
  });

  it('spreads names over the whole range', () => {
    const units = Array.from({ length: 1_000 }, (_, at) => unitOf(`trial/${at}`));
    expect(Math.min(...units)).toBeLessThan(0.02);
    expect(Math.max(...units)).toBeGreaterThan(0.98);
    expect(Math.max(...units)).toBeLessThan(1);
    expect(units.filter((unit) => unit < 0.5).length).toBeGreaterThan(420);
  });
});
