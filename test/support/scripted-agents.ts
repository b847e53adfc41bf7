// A model that types a script of the test's own in the place of each task's solution: an agent that does as it is told.
import { startKnownRateServer, type KnownRateServer } from '../../instruments/known-rate/server.ts';
import { readKnownTasks } from '../../instruments/known-tasks.ts';

/** `model` is to be a known-rate model of rate 1; `scriptOf` gives the bash script of a task, by its id. */
export async function serveSolutions(
  tasksDir: string,
  model: string,
  scriptOf: (task: string) => Promise<Uint8Array> | Uint8Array,
): Promise<KnownRateServer> {
  const tasks = await Promise.all(
    (await readKnownTasks(tasksDir)).map(async (task) => {
      const solve = { path: 'solve.sh', content: await scriptOf(task.id), executable: true };
      return { ...task, steps: task.steps.map((step) => ({ ...step, files: [solve] })) };
    }),
  );
  return await startKnownRateServer({ tasks, models: [model], seed: 7 });
}
