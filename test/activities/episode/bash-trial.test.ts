// A trial's episode under the bash scaffold, from its plan to what it leaves in the store.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { passBarrier } from '../../../activities/barrier.ts';
import { runEpisode } from '../../../activities/episode/run-episode.ts';
import { phases, readPhase } from '../../../activities/phase-records.ts';
import { provision } from '../../../activities/provision.ts';
import { resolveSubject } from '../../../activities/subject.ts';
import { settingsKey } from '../../../domain/layout.ts';
import { SweepSettingsSchema } from '../../../domain/sweep.ts';
import { startKnownRateServer, type KnownRateServer } from '../../../instruments/known-rate/server.ts';
import { bash } from '../../../scaffolds/bash/index.ts';
import { putJson, readRef } from '../../../store/objects.ts';
import { plainTask } from '../../instruments/known-data.ts';
import { planOf, settingsOf } from '../../support/sweep-data.ts';
import { quiet } from '../fake-driver.ts';
import { openLab, type Lab } from '../lab.ts';

const model = 'known-rate-1';
let server: KnownRateServer;
let lab: Lab;
beforeEach(async () => {
  const known = { ...plainTask, slug: 'lab--task', id: 'lab/task' };
  server = await startKnownRateServer({ tasks: [known], models: [model], seed: 7 });
  const { models } = planOf({ sweep: 'lab', tasks: 0, models: { [model]: 1 } });
  const { name, version } = bash;
  const options = bash.parseOptions({ finish: 'submit' });
  const scaffolds = [{ name, slug: name, version, options, digest: 'a'.repeat(64) }];
  lab = await openLab({
    plan: { models, scaffolds },
    behaviourOf: () => ({
      ...quiet,
      onRun: ({ stdin }) => {
        const tag = /DONE ([0-9a-f]{12})/.exec(Buffer.from(stdin ?? []).toString())?.[1];
        return tag === undefined ? {} : { stdout: Buffer.from(`PASSBAND-DONE-${tag} 0\n`) };
      },
    }),
  });
  const endpoints = { [model]: { urls: [server.url], servedName: null, apiKeyEnv: null, maxRequests: null } };
  await putJson(lab.world.store, settingsKey('lab'), SweepSettingsSchema, settingsOf({ endpoints }));
  await lab.putGate({});
});
afterEach(async () => {
  await server.close();
  await lab.close();
});

it('runs calls and no terminal, and leaves the tools, the calls and their results', async () => {
  const { world, run } = lab;
  const subject = lab.trial();
  await provision(world, { subject }, run);
  await passBarrier(world, { subject }, run);
  const { ending, turns } = await runEpisode(world, { subject, step: 0 }, run);
  expect(ending).toBe('completed');
  expect(lab.driver.made.get('agent')?.asked).not.toContain('terminal');

  const record = await readPhase(world, phases.episode(await resolveSubject(world, subject), 0));
  if (record === null) throw new Error('the episode left no record');
  const read = async (ref: Parameters<typeof readRef>[1]): Promise<unknown> =>
    JSON.parse(Buffer.from(await readRef(world.store, ref)).toString());
  expect(await read(record.summary.trajectory)).toMatchObject({
    agent: { name: 'bash', version: bash.version, tool_definitions: [{}, { function: { name: 'submit' } }] },
    final_metrics: { total_steps: turns + 2 },
  });
  expect(await read(record.summary.messages)).toMatchObject({
    tools: [{ function: { name: 'bash' } }, { function: { name: 'submit' } }],
    messages: expect.arrayContaining([
      expect.objectContaining({ role: 'tool', content: 'The work is handed in.' }),
    ]) as unknown,
  });
});
