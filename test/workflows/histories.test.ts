// Histories that earlier code has left: today's code must go on with every one of them (docs/determinism.md).
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readHistory, type RecordedHistory } from '../support/history-file.ts';
import { Replayer } from '../support/replayer.ts';
import { bundleOnce } from '../support/temporal-environment.ts';

const folder = new URL('../histories/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
const read = (name: string): Promise<RecordedHistory> => readHistory(new URL(name, folder));

let replayer: Replayer;
beforeAll(async () => {
  replayer = new Replayer(await bundleOnce());
});
afterAll(async () => {
  await replayer.close();
});

describe('recorded histories', () => {
  test('are of every workflow', () => {
    for (const workflow of ['sweep-r', 'trial-r', 'gate-r']) {
      expect(files.some((name) => name.includes(workflow))).toBe(true);
    }
  });

  test.each(files)('%s is replayed by the workflows as they are now', async (name) => {
    await replayer.replay({ workflowId: name, history: await read(name) });
  });

  test('a change in the order of commands without patched() is found, and what follows is replayed', async () => {
    const workflowId = files.find((file) => file.includes('trial-r')) ?? '';
    const history = await read(workflowId);
    // As if the delta had once been taken before the episode.
    for (const { activityTaskScheduledEventAttributes: scheduled } of history.events ?? []) {
      const type = scheduled?.activityType;
      if (type?.name === 'runEpisode') type.name = 'takeDelta';
      else if (type?.name === 'takeDelta') type.name = 'runEpisode';
    }
    await expect(replayer.replay({ workflowId, history })).rejects.toThrow('Nondeterminism');
    await replayer.replay({ workflowId, history: await read(workflowId) });
  });

  test('the bundle holds no schema library and stays small', async () => {
    const { code } = await bundleOnce();
    expect(code).not.toContain('ZodType');
    expect(code.length).toBeLessThan(2_200_000);
  });
});
