// Records histories of today's workflows into test/histories: `node bin/record-histories.ts NAME`, before their code changes.
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Activities } from '../activities/types.ts';
import { startTemporal } from '../embedded/temporal.ts';
import { failureOf, fakeWorld, planRef } from '../test/support/fake-activities.ts';
import { writeHistory } from '../test/support/history-file.ts';
import { startTestTemporal, type Scene } from '../test/support/temporal-environment.ts';
import { gateWorkflowId, trialWorkflowId } from '../workflows/messages.ts';
import { sweep } from '../workflows/sweep.ts';

const name = process.argv[2];
if (name === undefined || !/^[a-z0-9-]+$/.test(name)) {
  throw new Error('usage: node bin/record-histories.ts NAME (what the code is now, in [a-z0-9-])');
}
const folder = fileURLToPath(new URL('../test/histories/', import.meta.url));
const shape = { tasks: 4, attempts: [3, 2], scaffolds: 1 };

/** One sweep with most of what happens: two steps, a lost generation, a task rejected, a gate in shared mode. */
const provision: Activities['provision'] = ({ subject }) => {
  if (subject.kind === 'trial' && subject.index === 1 && subject.generation === 1)
    throw failureOf('SandboxLost');
  return Promise.resolve({ uid: 'uid', host: 'host' });
};
const concludeGate: Activities['concludeGate'] = ({ task, environmentMode }) => {
  if (task === 2) return Promise.resolve({ outcome: 'rejected', reason: 'nop-passes' });
  const tryShared = task === 1 && environmentMode === 'separate';
  return Promise.resolve(tryShared ? { outcome: 'try-shared' } : { outcome: 'kept', reason: null });
};

const dir = await mkdtemp(path.join(tmpdir(), 'passband-histories-'));
const server = await startTemporal({
  dir,
  binary: null,
  env: process.env,
  note: (line) => console.error(line),
  dynamicConfig: ['limit.historyCount.suggestContinueAsNew=150'],
});
const temporal = await startTestTemporal(
  await TestWorkflowEnvironment.createFromExistingServer({ address: server.address }),
);
const world = fakeWorld(shape, { provision, concludeGate }, 3, 2);

async function save(scene: Scene, workflowId: string, runId?: string): Promise<void> {
  const file = path.join(folder, `${name}-${workflowId}${runId === undefined ? '' : '-first'}.json`);
  await writeHistory(file, await scene.history(workflowId, runId));
  console.error(`wrote ${file}`);
}

await temporal.play(world.activities, async (scene) => {
  const input = { sweep: 'r', plan: planRef, gatesOnly: false, carried: null };
  const handle = await scene.start(sweep, 'sweep-r', [input]);
  const started = (await handle.describe()).runId;
  await handle.result();
  await save(scene, 'sweep-r', started);
  await save(scene, 'sweep-r');
  await save(scene, trialWorkflowId('r', 0));
  await save(scene, gateWorkflowId('r', 0));
  await save(scene, gateWorkflowId('r', 1));
});
await temporal.stop();
await server.stop();
await rm(dir, { recursive: true, force: true });
