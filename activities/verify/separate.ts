// The separate verifier: a fresh sandbox from the pristine image, the filtered delta, then the clean tests.
import {
  DeltaManifestSchema,
  type DeltaEntry,
  type DeltaManifest,
  type Withheld,
} from '../../domain/delta.ts';
import type { SandboxRecord, Verification } from '../../domain/verdict.ts';
import { doubtfulDetails, judge } from '../../domain/verify.ts';
import { withhold, type Withholding } from '../../domain/withhold.ts';
import type { Ref } from '../../domain/refs.ts';
import { readJsonRef } from '../../store/objects.ts';
import { isOwnDoing } from '../barrier.ts';
import { handsOverArtifacts } from '../delta.ts';
import { startTaskServices } from '../services.ts';
import { stepAt } from '../subject.ts';
import type { World } from '../world.ts';
import { inFreshSandbox } from './fresh-sandbox.ts';
import { layDelta } from './lay-delta.ts';
import { endedFromInside, runTests, type TestsRun } from './run-tests.ts';
import { brokenVerifier, verificationOf, type StepToVerify, type Verified } from './verification.ts';

export async function verifySeparate(world: World, task: StepToVerify): Promise<Verified> {
  const { grading, index, ground } = task;
  const manifest = await readJsonRef(world.store, task.delta, DeltaManifestSchema);
  const split = divide(task, manifest);
  const expected = ground.oracle?.[index]?.assertions ?? [];
  const first = await verifyOnce(world, task, { phase: 'verifier', manifest, entries: split.laid });
  const judgement = judge(first.tests, expected);
  const sandboxes: SandboxRecord[] = [first.sandbox];
  let result: Verification['result'] = judgement.result;
  let restoredOutput: Ref | null = null;
  if (result === 'failed' && split.restored !== null) {
    const again = await verifyOnce(world, task, {
      phase: 'verifier-restored',
      manifest,
      entries: split.restored,
    });
    sandboxes.push(again.sandbox);
    restoredOutput = again.tests.output;
    if (judge(again.tests, expected).result === 'passed') result = 'disputed';
  }
  const { detail } = judgement;
  if (result === 'failed' && detail !== null && doubtfulDetails.includes(detail)) {
    await checkOracleDelta(world, task, detail);
  }
  return {
    verification: {
      ...verificationOf(first.tests, result, result === 'disputed' ? null : detail),
      withheld: [...split.withheld, ...first.refused],
      missing: manifest.missing,
      restoredOutput,
    },
    ambiguousKeys: [...first.tests.ambiguousKeys],
    exitCode: first.tests.exitCode,
    sandboxes: sandboxes.map((one) => ({ ...one, step: stepAt(grading, index).name })),
  };
}

/** In the gate the oracle's own changes are what a solution may change; a nop may change nothing. */
function divide({ grading, index, ground }: StepToVerify, manifest: DeltaManifest): Withholding {
  const { actor } = grading;
  const own = actor.kind === 'gate' && actor.agent === 'oracle' ? pathsOf(manifest) : [];
  return withhold({
    manifest,
    facts: ground.pristine,
    solutionPaths: ground.oracle?.[index]?.solutionPaths ?? own,
    artifacts: handsOverArtifacts(stepAt(grading, index), ground),
  });
}

export const pathsOf = (manifest: DeltaManifest): string[] => [
  ...new Set(manifest.entries.map(({ path }) => path)),
];

interface Pass {
  readonly phase: 'verifier' | 'verifier-restored';
  readonly manifest: DeltaManifest;
  readonly entries: readonly DeltaEntry[];
}

interface Passed {
  readonly tests: TestsRun;
  readonly refused: readonly Withheld[];
  readonly sandbox: SandboxRecord;
}

async function verifyOnce(world: World, task: StepToVerify, pass: Pass): Promise<Passed> {
  const ran = await runOver(world, task, { ...pass, name: `${pass.phase}-${task.index}` });
  return { ...ran, sandbox: { ...ran.sandbox, phase: pass.phase } };
}

/** The network is proved closed before anything of the agent's is laid. */
function runOver(
  world: World,
  { grading, index, ground, run }: StepToVerify,
  { manifest, entries, name }: Omit<Pass, 'phase'> & { readonly name: string },
): Promise<Passed> {
  const { verifierImage } = ground;
  const imageOwnsTests = verifierImage !== null;
  const image = verifierImage ?? ground.image;
  // Beside a verifier of the task's own there is none of its services.
  const serviceImages = imageOwnsTests ? undefined : ground.serviceImages;
  const use = { grading, phase: name, image, serviceImages, env: {}, ownWorkdir: imageOwnsTests, run };
  return inFreshSandbox(world, use, async (sandbox, place) => {
    if (serviceImages !== undefined) {
      await startTaskServices(world, { sandbox, grading, run, of: 'verifier' });
    }
    const here = { ...place, phase: 'verifier' as const, step: stepAt(grading, index).name };
    let refused: readonly Withheld[];
    try {
      refused = await layDelta(world, sandbox, manifest, entries);
    } catch (error) {
      // Work that its verifier has no room for is the agent's own: were it tried again, it could re-roll itself.
      if (!isOwnDoing(error)) throw error;
      return { tests: endedFromInside(error), refused: [], sandbox: here };
    }
    const tests = await runTests(world, sandbox, {
      grading,
      step: index,
      mode: 'separate',
      imageOwnsTests,
      run,
    });
    return { tests, refused, sandbox: here };
  });
}

/** The oracle's stored delta in the same kind of place: where it fails too, the verifier is what is broken. */
async function checkOracleDelta(world: World, task: StepToVerify, detail: string): Promise<void> {
  const { grading, index, ground } = task;
  const oracle = ground.oracle?.[index];
  if (oracle === undefined || oracle.delta === null) return;
  const manifest = await readJsonRef(world.store, oracle.delta, DeltaManifestSchema);
  const { laid } = withhold({
    manifest,
    facts: ground.pristine,
    solutionPaths: pathsOf(manifest),
    artifacts: handsOverArtifacts(stepAt(grading, index), ground),
  });
  const { tests } = await runOver(world, task, { manifest, entries: laid, name: `oracle-${index}` });
  if (judge(tests, oracle.assertions).result !== 'passed') throw brokenVerifier(grading, detail);
}
