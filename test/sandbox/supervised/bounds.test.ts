// Bounds that PID 1 keeps: what a task may have never falls below what is promised of it elsewhere.
import { describe, expect, it } from 'vitest';
import { boundsArguments, boundsOf, endedByBounds } from '../../../sandbox/supervised/bounds.ts';

describe('the bounds of a sandbox', () => {
  it('grow with its disk and its processes, and are no smaller than a delta, nor met where there is a pids limit', () => {
    expect(boundsOf({ diskMiB: 10_240, pids: 512 })).toEqual({ files: 655_360, processes: 4_096 });
    expect(boundsOf({ diskMiB: 64, pids: 16 })).toEqual({ files: 200_000, processes: 4_096 });
    expect(boundsOf({ diskMiB: 20_480, pids: 5_000 })).toEqual({ files: 1_310_720, processes: 20_000 });
    expect(boundsArguments({ diskMiB: 64, pids: 16 }).join(' ')).toBe(
      '--max-files 200000 --max-processes 4096',
    );
  });

  it('are told by their own statuses and by no other', () => {
    const told = Array.from({ length: 256 }, (_, status) => endedByBounds(status)?.why ?? null);
    expect(told.flatMap((why, status) => (why === null ? [] : [[status, why]]))).toEqual([
      [71, 'exited'],
      [73, 'disk'],
      [75, 'evicted'],
    ]);
  });
});
