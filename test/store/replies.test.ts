// Reply records as they are read: in their order, and those from before causes were told as well.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { replyKey } from '../../domain/layout.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import type { Store } from '../../store/port.ts';
import { readReplies } from '../../store/replies.ts';

const generation = 'v1/sweeps/s/trials/t/m/x/01/g001/';
let folder: string;
let store: Store;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'passband-replies-'));
  store = openFilesystemStore(folder);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** As the first version wrote it. */
const first = (call: number) => ({
  format: 'passband.reply',
  version: 1,
  call,
  kind: 'reply',
  requestDigest: 'x',
  text: '{}',
  reasoning: null,
  finishReason: 'stop',
  promptIds: {
    suffix: [7],
    prefixLength: 2,
    prefixSha256: 'abc',
    extends: false,
    breakIndex: 2,
  },
  completionIds: [5, 6],
  logprobs: null,
  usage: { promptTokens: 3, completionTokens: 2, cachedTokens: null, estimated: false },
  times: { startedAt: '2026-01-01T00:00:00.000Z', firstTokenMs: 3, lastTokenMs: 9, earlierTries: 0 },
});

const put = (call: number, value: object) =>
  store.put(replyKey(generation, 0, call), Buffer.from(JSON.stringify(value)));

it('a record of version 1 is read with its break, of which no cause is known', async () => {
  await put(1, { ...first(1), promptIds: null });
  await put(0, first(0));
  await store.put(`${generation}s00/turns/context.json`, Buffer.from('{}'));
  const [older, bare, ...others] = await readReplies(store, generation, 0);
  expect(others).toEqual([]);
  expect(older).toMatchObject({
    version: 2,
    call: 0,
    promptIds: { breakIndex: 2, breakCause: null },
    reasoningIds: null,
  });
  expect(bare).toMatchObject({ call: 1, promptIds: null });
});

it('a record of a version to come is refused by its name', async () => {
  await put(0, { ...first(0), version: 3 });
  await expect(readReplies(store, generation, 0)).rejects.toThrow(/00000-reply\.json.*version 3/);
});
