// The delta of a step's end: what the agent's processes left, stopped first where the verifier is another sandbox.
import type { DeltaManifest } from '../domain/delta.ts';
import { DeltaManifestSchema, deltaLimitBytes } from '../domain/delta.ts';
import type { NetworkProof } from '../domain/network.ts';
import type { Ref } from '../domain/refs.ts';
import type { Artifact, Step } from '../domain/task.ts';
import { isWithin } from '../domain/paths.ts';
import type { Sandbox, TakenDelta } from '../sandbox/port.ts';
import { isOwnDoing } from './barrier.ts';
import { collect } from './collect.ts';
import { proveStillClosed } from './egress/prove.ts';
import { readGround, type Ground } from './ground.ts';
import { laidInMain, sinceLaid } from './laid-files.ts';
import { endPhase, needPhase, phases, readPhase, type DeltaRecord } from './phase-records.ts';
import { openAgentSandbox } from './provision.ts';
import { isLastStep, resolveSubject, stepAt, type Grading } from './subject.ts';
import type { DeltaOutcome, StepInput } from './types.ts';
import { underWatch } from './sandbox-watch.ts';
import type { Run, World } from './world.ts';

/** The convention's folder for what is handed over; it is there from the start, and never missing. */
const handOver: Artifact = { source: '/logs/artifacts', destination: null, exclude: [], service: null };

/** The oracle may create them, we make them in every sandbox: alone they are nobody's work. */
const ownFolders: ReadonlySet<string> = new Set([
  '/logs',
  '/logs/agent',
  '/logs/verifier',
  '/logs/artifacts',
]);

export async function takeDelta(world: World, { subject, step }: StepInput, run: Run): Promise<DeltaOutcome> {
  const grading = await resolveSubject(world, subject);
  const phase = phases.delta(grading, step);
  const before = await readPhase(world, phase);
  const record = before ?? (await endPhase(world, phase, await take(world, grading, step, run)));
  if (isLastStep(grading, step) && (await readGround(world, grading)).environmentMode === 'separate') {
    await letGoAgent(world, grading);
  }
  return { ending: record.ending, finalState: record.finalState };
}

/** All that is left of the agent's work lies in the store: its sandbox holds no place while the verifier has one. */
async function letGoAgent(world: World, grading: Grading): Promise<void> {
  const { name } = (await needPhase(world, phases.provision(grading))).sandbox;
  world.sandboxes.letGo(name, (error) =>
    world.log.warn({ sandbox: name, error: String(error) }, 'a sandbox stays until its clean-up'),
  );
}

const recordOf = (fields: Omit<DeltaRecord, 'format' | 'version'>): DeltaRecord => ({
  format: 'passband.phase.delta',
  version: 1,
  ...fields,
});

/** No final state can be read: what runs inside has ended the sandbox, and the episode's ending says how. */
const noFinalState = (
  ending: DeltaRecord['ending'],
  { network, warnings }: Pick<DeltaRecord, 'network' | 'warnings'>,
): DeltaRecord => recordOf({ finalState: false, ending, delta: null, network, warnings });

async function take(world: World, grading: Grading, index: number, run: Run): Promise<DeltaRecord> {
  await needPhase(world, phases.episode(grading, index));
  const warnings: string[] = [];
  let network: NetworkProof | null = null;
  try {
    const sandbox = await openAgentSandbox(world, grading);
    const ground = await readGround(world, grading);
    let content: Ref | null = null;
    const watch = { signal: run.signal, world };
    const taken = await underWatch(sandbox, watch, async (signal) => {
      if (ground.environmentMode === 'separate') {
        warnings.push(...(await collect(sandbox, grading.task.task, index, signal)));
        // Between steps they only stand still: a later step may need them.
        if (isLastStep(grading, index)) await sandbox.endProcesses();
        else await sandbox.pause();
      }
      // In shared mode beside whatever runs: nothing of it is stopped before the tests.
      const proved = await proveStillClosed(world, { sandbox, grading, run: { signal } });
      network = proved.network;
      warnings.push(...proved.warnings);
      return takeFrom(sandbox, stepAt(grading, index), ground, async (tar) => {
        content = await world.store.putBlob(tar);
      });
    });
    if (taken.overLimit) return noFinalState('agent-disk-full', { network, warnings });
    const whole = manifestOf(taken, content, grading);
    const handsOver = handsOverArtifacts(stepAt(grading, index), ground);
    const manifest = handsOver ? whole : await withoutLaid(world, sandbox, grading, whole);
    if (handsOver) warnings.push(...ofServices(stepAt(grading, index)));
    const delta = await world.store.putBlob(Buffer.from(JSON.stringify(DeltaManifestSchema.parse(manifest))));
    return recordOf({ finalState: true, ending: null, delta, network, warnings });
  } catch (error) {
    if (isOwnDoing(error)) {
      const full = error.state.why === 'disk';
      return noFinalState(full ? 'agent-disk-full' : null, {
        network,
        warnings: [...warnings, error.message],
      });
    }
    throw error;
  }
}

/** Whether only the declared artifacts are handed to the verifier. */
export const handsOverArtifacts = (
  step: Step,
  ground: Pick<Ground, 'environmentMode' | 'verifierImage'>,
): boolean =>
  ground.environmentMode === 'separate' && (ground.verifierImage !== null || step.artifacts.length > 0);

function takeFrom(
  sandbox: Sandbox,
  step: Step,
  ground: Ground,
  sink: Parameters<Sandbox['takeDelta']>[1],
): Promise<TakenDelta> {
  return handsOverArtifacts(step, ground)
    ? sandbox.takeArtifacts([...step.artifacts.filter(isOfMain), handOver], deltaLimitBytes, sink)
    : sandbox.takeDelta(deltaLimitBytes, sink);
}

const isOfMain = ({ service }: Artifact): boolean => service === null || service === 'main';

/** A warning for each artifact that lies in the container of a service. */
const ofServices = ({ artifacts }: Step): string[] =>
  artifacts
    .filter((artifact) => !isOfMain(artifact))
    .map(({ source, service }) => `artifact ${source} of service ${service ?? ''} is not handed over`);

async function withoutLaid(
  world: World,
  sandbox: Sandbox,
  { task }: Grading,
  manifest: DeltaManifest,
): Promise<DeltaManifest> {
  if (task.task.services === undefined) return manifest;
  const { files } = await world.packages.of(task);
  return sinceLaid(world, sandbox, manifest, laidInMain(task.task, files));
}

/** What was laid by us, for the oracle or for every agent, is no part of anybody's work. */
function manifestOf(taken: TakenDelta, content: Ref | null, { actor }: Grading): DeltaManifest {
  const solutionIsOurs = actor.kind === 'gate' && actor.agent === 'oracle';
  const isOurs = (path: string, kind: string): boolean =>
    (kind === 'directory' && ownFolders.has(path)) ||
    path === '/logs/agent/oracle.txt' ||
    (solutionIsOurs && isWithin(path, '/solution'));
  return {
    ...taken.manifest,
    entries: taken.manifest.entries.filter(({ path, kind }) => !isOurs(path, kind)),
    missing: taken.manifest.missing.filter((path) => path !== handOver.source),
    content: taken.hasContent ? content : null,
  };
}
