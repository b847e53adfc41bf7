// What doctor sees from a pod on one node: the policy, user namespaces, the limits of processes and files, what an OOM ends.
import { defaultLimits } from '../domain/task.ts';
import type { EgressSurvey } from '../sandbox/egress.ts';
import { SandboxGone, type Sandbox, type SandboxSpec } from '../sandbox/port.ts';
import { boundsOf } from '../sandbox/supervised/bounds.ts';
import type { ClusterFinding } from './cluster-finding.ts';

const settleMs = 15_000;
const commandMs = 30_000;
const gib = 1024 ** 3;
/** More than our default for a task (512), and than kubelets are usually given (1,024). */
const mostProcesses = 1_200;
/** Doubles a string until there is no memory for it. */
const hog = 'x=0123456789abcdef; while :; do x=$x$x; done';
/** Files in all, files that are left, blocks in all, bytes of one. */
const statfs = ['stat', '-f', '-c', '%c %d %b %S', '/'];

export const memoryPart = 'out of memory';

/** What a pod has that looks: little, but that an OOM takes no node with it. */
export const lookingPod: Pick<SandboxSpec, 'cpus' | 'memoryMiB' | 'diskMiB' | 'pids'> = {
  ...{ cpus: 0.1, memoryMiB: 512, diskMiB: 64, pids: 64 },
};

export const has = (part: string, what: string): ClusterFinding => ({ part, state: 'has', what, mend: null });

/** A finding for each part. What cannot be seen is worth a note, and no reason not to grade. */
export async function lookFrom(
  sandbox: Sandbox,
  survey: EgressSurvey,
  signal: AbortSignal,
): Promise<readonly ClusterFinding[]> {
  return [
    await policyFinding(sandbox, survey, signal),
    await seen('user namespaces', () => userNamespaceFinding(sandbox)),
    await seen('files', () => filesFinding(sandbox)),
    await seen('pids limit', () => pidsFinding(sandbox)),
    // Last: the sandbox may be gone with it.
    await seen(memoryPart, () => memoryFinding(sandbox)),
  ];
}

async function seen(part: string, look: () => Promise<ClusterFinding>): Promise<ClusterFinding> {
  try {
    return await look();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { part, state: 'note', what: `it could not be seen: ${why}`, mend: null };
  }
}

async function outputOf(sandbox: Sandbox, id: string, argv: readonly string[]): Promise<string> {
  const { stdout } = await sandbox.run({ id, argv, timeoutMs: commandMs });
  return Buffer.from(stdout).toString('utf8').trim();
}

async function policyFinding(
  sandbox: Sandbox,
  survey: EgressSurvey,
  signal: AbortSignal,
): Promise<ClusterFinding> {
  const { outcome, probes, settledMs } = await sandbox.proveNetwork(survey, { settleMs, signal });
  const open = probes.filter((probe) => probe.outcome === 'open').map(({ target }) => target);
  if (outcome === 'open') {
    return {
      part: 'policy',
      state: 'lacks',
      what: `a sandbox reaches ${open.join(', ') || 'a network'}`,
      mend: 'the network plugin must enforce NetworkPolicy, and the policies of helm/passband must be in the namespace',
    };
  }
  const late = settledMs === undefined ? '' : ', though not from its first moment on';
  return has('policy', `a sandbox reaches none of ${probes.length} targets (${outcome})${late}`);
}

async function userNamespaceFinding(sandbox: Sandbox): Promise<ClusterFinding> {
  const map = await outputOf(sandbox, 'users', ['cat', '/proc/self/uid_map']);
  const [inside, outside] = map.split(/\s+/);
  return inside === outside
    ? {
        part: 'user namespaces',
        state: 'note',
        what: 'not in use: root in a sandbox is root of its node, without most capabilities',
        mend: 'where the runtime has them, set pod.userNamespaces to auto in the file',
      }
    : has('user namespaces', `root in a sandbox is ${outside ?? 'another user'} of its node`);
}

/** No pod has a limit of its own for files: the room that there is, and how it compares with what each one is let make. */
async function filesFinding(sandbox: Sandbox): Promise<ClusterFinding> {
  const part = 'files';
  const told = (await outputOf(sandbox, 'files', statfs)).split(/\s+/).map(Number);
  const [files = NaN, free = NaN, blocks = NaN, blockBytes = NaN] = told;
  if (!told.every(Number.isFinite) || told.length < 4) {
    return { part, state: 'note', what: 'how many there may be is not told', mend: null };
  }
  if (files === 0) return has(part, 'there may be as many as there is space for');
  const { files: most } = boundsOf(defaultLimits);
  const what = `a sandbox with our default of disk is ended when it has made ${most}`;
  const diskGib = Math.round((blocks * blockBytes) / gib);
  const wanted = (diskGib * 1024 * most) / defaultLimits.diskMiB;
  return files < wanted && free < 10 * most
    ? {
        part,
        state: 'note',
        what: `${what}; no more than ${free} are left on a node's ${diskGib} GiB, and ten such sandboxes use them up`,
        mend: 'give the nodes a file system with a file for each 16 KiB, and leave nodefs.inodesFree and imagefs.inodesFree in evictionHard',
      }
    : has(part, `${what}, and its node has room for more than ten of those`);
}

/** A limit of the pod is not seen from its container: as many are started as there may be. */
async function pidsFinding(sandbox: Sandbox): Promise<ClusterFinding> {
  const part = 'pids limit';
  const script = `i=0; while [ $i -lt ${mostProcesses} ]; do sleep 300 & i=$((i+1)); echo $i; done`;
  const lines = await outputOf(sandbox, 'pids', ['sh', '-c', script]);
  await sandbox.kill('pids');
  const begun = Number(lines.split('\n').at(-1));
  const { pids } = defaultLimits;
  if (begun >= mostProcesses) {
    const { processes } = boundsOf(defaultLimits);
    return {
      part,
      state: 'note',
      what: `none that ${mostProcesses} processes would meet: a sandbox is ended at ${processes}, and its node may be out of them before`,
      mend: 'set podPidsLimit (1024, say) in the KubeletConfiguration of every node: no pod can say it for itself',
    };
  }
  return begun < pids
    ? {
        part,
        state: 'note',
        what: `a pod begins no more than about ${tens(begun)} processes of its own, and tasks are promised ${pids}`,
        mend: `set podPidsLimit to ${2 * pids} in the KubeletConfiguration of every node`,
      }
    : has(part, `a pod begins no more than about ${tens(begun)} processes of its own`);
}

/** What runs beside them differs by a few from pod to pod. */
const tens = (count: number): number => Math.round(count / 10) * 10;

/** What a process over the limit takes with it: an agent that meets it goes on, or has ended. Rates differ by it. */
async function memoryFinding(sandbox: Sandbox): Promise<ClusterFinding> {
  const part = memoryPart;
  const told =
    sandbox.memoryEnds === null
      ? 'verdicts cannot tell: memoryEnds is null'
      : `verdicts say memoryEnds: ${sandbox.memoryEnds}`;
  const whole = has(part, `ends the whole container, and with it the episode; ${told}`);
  try {
    const ended = await sandbox.run({ id: 'oom', argv: ['sh', '-c', hog], timeoutMs: commandMs });
    if (isGoneForMemory(await sandbox.state())) return whole;
    return ended.signal === null
      ? { part, state: 'note', what: `not seen: the process ended with ${ended.exitCode}`, mend: null }
      : has(part, `ends the process alone, and the episode goes on; ${told}`);
  } catch (error) {
    if (error instanceof SandboxGone && isGoneForMemory(error.state)) return whole;
    throw error;
  }
}

const isGoneForMemory = (state: Awaited<ReturnType<Sandbox['state']>>): boolean =>
  state.kind === 'gone' && state.why === 'oom';
