// Which keys a store may hold after these sweeps: the grammar of docs/store.md, held against their plans.
import { verdictKey } from '../../domain/layout.ts';
import { trialInPlan, type Plan } from '../../domain/sweep.ts';
import { countTrials, shapeOf } from '../../domain/sweep.ts';

const sha = '[0-9a-f]{64}';
/** What a generation writes, of trials and of gates alike. */
const generation =
  '(failures/\\d{3}\\.json|g\\d{3}/s\\d{2}/(turns/(\\d{5}-(reply|observation)|context)|provision|barrier|begin|episode|delta|verify)\\.json)';

const ofStore = /^v1\/(store\.json|check)$/;
const ofBlob = new RegExp(`^v1/blobs/([0-9a-f]{2})/(${sha})$`);
const ofTrial = new RegExp(`^v1/sweeps/([^/]+)/trials/(.+?/\\d+)/(verdict\\.json|${generation})$`);
const ofSweep =
  /^v1\/sweeps\/([^/]+)\/(plan\.json|settings\.json|interruption\.json|(gates|refusals)\/([^/]+)\.json)$/;
const ofSharedGate = new RegExp(`^v1/gates/(${sha})/gate-[A-Za-z0-9.-]+\\.json$`);
const ofGate = new RegExp(
  `^v1/gates/(${sha})/([^/]+)/(prepared\\.json|(oracle|nop)-(shared|separate)/${generation})$`,
);

interface Known {
  /** Task slugs of each sweep. */
  readonly sweeps: ReadonlyMap<string, ReadonlySet<string>>;
  /** `SWEEP/TASK/MODEL/SCAFFOLD/NN`. */
  readonly trials: ReadonlySet<string>;
  readonly gates: ReadonlySet<string>;
}

/** Every trial of a plan, as writes name it. */
export function trialNamesOf(plan: Plan): string[] {
  return Array.from({ length: countTrials(shapeOf(plan)) }, (_, index) =>
    verdictKey(trialInPlan(plan, index).path)
      .replace(/^v1\/sweeps\//, '')
      .replace('/trials/', '/')
      .replace(/\/verdict\.json$/, ''),
  );
}

/** Keys that belong to nothing that is planned, or that the layout does not know. */
export function orphanKeys(keys: readonly string[], plans: readonly Plan[]): string[] {
  const known: Known = {
    sweeps: new Map(plans.map(({ sweep, tasks }) => [sweep, new Set(tasks.map(({ slug }) => slug))])),
    trials: new Set(plans.flatMap(trialNamesOf)),
    gates: new Set(plans.flatMap(({ tasks }) => tasks.map(({ gateKey }) => gateKey))),
  };
  return keys.filter((key) => !isKnown(key, known));
}

function isKnown(key: string, { sweeps, trials, gates }: Known): boolean {
  if (ofStore.test(key)) return true;
  const blob = ofBlob.exec(key);
  if (blob !== null) return blob[2]?.startsWith(blob[1] ?? '') === true;
  const trial = ofTrial.exec(key);
  if (trial !== null) return trials.has(`${trial[1] ?? ''}/${trial[2] ?? ''}`);
  const sweep = ofSweep.exec(key);
  if (sweep !== null) {
    const tasks = sweeps.get(sweep[1] ?? '');
    return tasks !== undefined && (sweep[4] === undefined || tasks.has(sweep[4]));
  }
  const shared = ofSharedGate.exec(key);
  if (shared !== null) return gates.has(shared[1] ?? '');
  const gate = ofGate.exec(key);
  return gate !== null && gates.has(gate[1] ?? '') && sweeps.has(gate[2] ?? '');
}

/** Keys that are written again and again, or whose bytes name them: an object of any other key is written once. */
export const isWrittenOnce = (key: string): boolean =>
  !ofBlob.test(key) && !/\/(settings|interruption|prepared)\.json$|\/refusals\//.test(key);

/**
 * Generations that stand beside a verdict and should not: a later one than it counts, or an earlier one that left no
 * failure record. `SWEEP/TASK/MODEL/SCAFFOLD/NN gGGG` each.
 */
export function strayGenerations(
  keys: readonly string[],
  verdicts: ReadonlyMap<string, { readonly generation: number }>,
): string[] {
  const begun = new Set<string>();
  const failed = new Set<string>();
  for (const key of keys) {
    const [, sweep = '', trial = '', rest = ''] = ofTrial.exec(key) ?? [];
    if (sweep === '') continue;
    const number = /^(?:g|failures\/)(\d{3})/.exec(rest)?.[1];
    if (number === undefined) continue;
    (rest.startsWith('g') ? begun : failed).add(`${sweep}/${trial} g${number}`);
  }
  return [...begun].filter((name) => {
    const [trial = '', number = ''] = name.split(' g');
    const counted = verdicts.get(trial)?.generation;
    if (counted === undefined) return false;
    return Number(number) > counted || (Number(number) < counted && !failed.has(name));
  });
}
