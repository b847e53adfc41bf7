// Histories that earlier code has left: today's code must go on with every one of them (docs/determinism.md).
import { Worker } from '@temporalio/worker';
import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundleWorkflows } from '../../worker/bundle.ts';
import { readHistory, type RecordedHistory } from '../support/history-file.ts';
import '../support/quiet-runtime.ts';

const folder = new URL('../histories/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
const read = (name: string): Promise<RecordedHistory> => readHistory(new URL(name, folder));

let workflowBundle: Awaited<ReturnType<typeof bundleWorkflows>>;
beforeAll(async () => {
  workflowBundle = await bundleWorkflows();
});

describe('recorded histories', () => {
  test('are of every workflow', () => {
    for (const workflow of ['sweep-r', 'trial-r', 'gate-r']) {
      expect(files.some((name) => name.includes(workflow))).toBe(true);
    }
  });

  test.each(files)('%s is replayed by the workflows as they are now', async (name) => {
    await Worker.runReplayHistory({ workflowBundle }, await read(name));
  });

  test('a change in the order of commands without patched() is found', async () => {
    const history = await read(files.find((file) => file.includes('trial-r')) ?? '');
    // As if the delta had once been taken before the episode.
    for (const { activityTaskScheduledEventAttributes: scheduled } of history.events ?? []) {
      const type = scheduled?.activityType;
      if (type?.name === 'runEpisode') type.name = 'takeDelta';
      else if (type?.name === 'takeDelta') type.name = 'runEpisode';
    }
    await expect(Worker.runReplayHistory({ workflowBundle }, history)).rejects.toThrow();
  });

  test('the bundle holds no schema library and stays small', () => {
    expect(workflowBundle.code).not.toContain('ZodType');
    expect(workflowBundle.code.length).toBeLessThan(2_200_000);
  });
});
