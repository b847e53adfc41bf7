// The sample tasks as known-rate models see them, and the hostile fixtures' index against their folders.
import { cp, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { endings, failedDetails, results } from '../../domain/failures.ts';
import { hasNearMiss } from '../../instruments/known-rate/known-task.ts';
import { readKnownTasks } from '../../instruments/known-tasks.ts';
import { readTaskSet } from '../../tasks/task-set.ts';

const examples = join(import.meta.dirname, '../../examples/tasks');
const hostile = join(import.meta.dirname, '../fixtures/hostile');

describe('readKnownTasks', () => {
  it('knows every sample task with the solution of each step', async () => {
    const tasks = await readKnownTasks(examples);
    expect(tasks).toHaveLength((await readdir(examples)).length);
    for (const task of tasks) {
      expect(task.slug).toBe(task.id.replace('/', '--'));
      for (const step of task.steps) expect(step.files.map(({ path }) => path)).toContain('solve.sh');
    }
    const steps = tasks.find(({ id }) => id === 'passband/staged-import')?.steps ?? [];
    expect(steps.map(({ name, agentSec }) => [name, agentSec])).toEqual([
      ['clean', 15],
      ['load', 15],
    ]);
    expect(tasks.filter((task) => task.steps.some(hasNearMiss))).toHaveLength(3);
  });

  it('leaves out a task without a solution', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'known-'));
    await cp(join(examples, 'run-length'), join(dir, 'run-length'), { recursive: true });
    await cp(join(examples, 'git-rescue'), join(dir, 'git-rescue'), { recursive: true });
    await rm(join(dir, 'git-rescue/solution'), { recursive: true });
    expect((await readKnownTasks(dir)).map(({ id }) => id)).toEqual(['passband/run-length']);
    await rm(dir, { recursive: true });
  });
});

describe('the sample tasks', () => {
  it('are read without a word of complaint, strictly', async () => {
    const { rejected, messages } = await readTaskSet(examples, { strict: true });
    expect(rejected).toEqual([]);
    expect(messages).toEqual([]);
  });
});

describe('the hostile fixtures', () => {
  it('have an index that fits their folders, and none is expected to pass', async () => {
    const schema = z.array(
      z.strictObject({
        name: z.string(),
        about: z.string(),
        endings: z.array(z.enum(endings)).min(1),
        results: z.array(z.enum(results).exclude(['passed'])).min(1),
        winsUnfiltered: z.boolean(),
        sharedResults: z.array(z.enum(results).exclude(['passed'])).nullable(),
        details: z.array(z.enum(failedDetails)).optional(),
      }),
    );
    const index = schema.parse(JSON.parse(await readFile(join(hostile, 'index.json'), 'utf8')));
    const folders = await readdir(join(hostile, 'solutions'));
    expect(index.map(({ name }) => name).sort()).toEqual(folders.sort());
    for (const { name } of index) {
      expect((await stat(join(hostile, 'solutions', name, 'solve.sh'))).mode & 0o111).not.toBe(0);
    }
  });
});
