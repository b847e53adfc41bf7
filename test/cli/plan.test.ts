// Plans of models that are sent ids: part of the identity, and refused where nobody would parse a tool call.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makePlan } from '../../cli/plan.ts';
import { differences } from '../../cli/plan-difference.ts';
import { SweepFileSchema } from '../../cli/sweep-request.ts';
import type { Plan } from '../../domain/sweep.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import type { TaskSet } from '../../tasks/task-set.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'passband-plan-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const noTasks: TaskSet = { dir: 't', tasks: [], rejected: [], messages: [] };
function planWith(tokensIn: unknown, scaffold = 'terminus-2'): Promise<Plan> {
  const model = { name: 'm', ...(tokensIn === undefined ? {} : { tokens_in: tokensIn }) };
  const request = SweepFileSchema.parse({ name: 's', tasks: 't', models: [model], scaffolds: [scaffold] });
  return makePlan(request, noTasks, openFilesystemStore(folder));
}

it('tokens_in is part of a model’s identity, with its tags', async () => {
  const [chat, off, ids, tagged] = await Promise.all(
    [undefined, false, true, { think_tags: ['<think>', '</think>'] }].map((value) => planWith(value)),
  );
  const models = [chat, off, ids, tagged].map((plan) => plan?.models[0]);
  expect(models.map((model) => model?.tokensIn)).toEqual([
    undefined,
    undefined,
    { thinkTags: null },
    { thinkTags: ['<think>', '</think>'] },
  ]);
  expect(new Set(models.map((model) => model?.digest)).size).toBe(3);
  expect(models[0]?.digest).toBe(models[1]?.digest);
  if (chat === undefined || ids === undefined) throw new Error('no plan');
  expect(differences(chat, ids)).toEqual(['model m: tokens in: nothing in the plan, {"thinkTags":null} now']);
});

it('tokens_in is refused with a scaffold that offers tools, in one line', async () => {
  await expect(planWith(true, 'bash')).rejects.toThrow(
    /^model m: tokens_in does not go with the scaffold bash: .*\n?$/,
  );
  expect((await planWith(false, 'bash')).models).toHaveLength(1);
});
