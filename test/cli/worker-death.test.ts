// A worker's end: whose fault it is, and when no other one is started.
import { describe, expect, it } from 'vitest';
import { failureOfDeaths } from '../../cli/worker-death.ts';
import { startWorkerProcess } from '../../cli/worker-process.ts';

const words = { lastWords: 'out of memory' };

describe('a worker that ended', () => {
  it.each([
    [null, 'signal SIGKILL', 'PlatformUnavailable'],
    [69, 'exit status 69', 'PlatformUnavailable'],
    [70, 'exit status 70', 'Unexpected'],
    [134, 'exit status 134', 'Unexpected'],
  ] as const)(
    '%s (%s) is followed by another one five times, then it is %s',
    (exitCode, why, failureClass) => {
      expect(failureOfDeaths({ exitCode, why, ...words }, 5)).toBeNull();
      expect(failureOfDeaths({ exitCode, why, ...words }, 6)).toMatchObject({
        failureClass,
        message: `the worker ended 6 times within a minute (${why}): out of memory`,
      });
    },
  );

  it.each([2, 78])('with status %i is the operator to mend, the first time', (exitCode) => {
    const failure = failureOfDeaths({ exitCode, why: `exit status ${exitCode}`, lastWords: '' }, 1);
    expect(failure).toMatchObject({ failureClass: 'ConfigInvalid' });
    expect(failure?.message).toContain('it said nothing');
  });

  it('of bad configuration is told in its own last words, and not started again', async () => {
    const restarts: string[] = [];
    const env = { ...process.env, PASSBAND_WORKER_DRAIN_SEC: 'soon' };
    const worker = startWorkerProcess(['--sandbox', 'kubernetes'], env, (why) => restarts.push(why));
    await expect(worker.failed).rejects.toMatchObject({
      failureClass: 'ConfigInvalid',
      message: expect.stringMatching(/PASSBAND_WORKER_DRAIN_SEC.*whole number/) as string,
    });
    expect(restarts).toEqual([]);
    await worker.stop();
  });
});
