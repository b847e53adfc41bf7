// What doctor sees with pods of its own: the policy from inside, the pids limit, user namespaces, what an OOM ends.
import { randomUUID } from 'node:crypto';
import { ClassifiedError } from '../domain/errors.ts';
import { sweepLabels } from '../domain/sandbox-labels.ts';
import type { EgressSurvey } from '../sandbox/egress.ts';
import { SandboxGone, type Sandbox, type SandboxDriver } from '../sandbox/port.ts';
import type { ClusterFinding } from './cluster-finding.ts';

/** Small, anywhere, and with a shell. */
const image = 'busybox:1';
const lifetimeSec = 300;
const settleMs = 15_000;
const commandMs = 30_000;
const memoryMiB = 512;
/** More than our default for a task (512), and than kubelets are usually given (1,024). */
const mostProcesses = 1_200;
/** Doubles a string until there is no memory for it. */
const hog = 'x=0123456789abcdef; while :; do x=$x$x; done';

const has = (part: string, what: string): ClusterFinding => ({ part, state: 'has', what, mend: null });

/**
 * Makes a canary, its peer and a sandbox as a sweep would, looks, and removes them. A part that cannot be seen is a
 * finding; what could not be removed again is thrown.
 */
export async function examineCanary(driver: SandboxDriver, signal: AbortSignal): Promise<ClusterFinding[]> {
  const id = randomUUID().slice(0, 8);
  const labels = sweepLabels('doctor', id);
  const name = `pb-doctor-${id}`;
  try {
    const request = { name: `${name}-egress`, labels, targets: [], lifetimeSec };
    const survey = await driver.surveyEgress(request, signal);
    const sandbox = await driver.create(
      {
        ...{
          name: `${name}-agent`,
          labels,
          image: await driver.images.ensure({ kind: 'prebuilt', reference: image }, signal),
        },
        ...{
          cpus: 0.1,
          memoryMiB,
          diskMiB: 64,
          pids: 64,
          env: {},
          workdir: null,
          network: 'deny',
          baseline: false,
          lifetimeSec,
        },
      },
      signal,
    );
    return [
      canaryFinding(survey),
      await policyFinding(sandbox, survey, signal),
      await seen('user namespaces', () => userNamespaceFinding(sandbox)),
      await seen('pids limit', () => pidsFinding(sandbox)),
      // Last: the sandbox may be gone with it.
      await seen('out of memory', () => oomFinding(sandbox)),
    ];
  } catch (error) {
    signal.throwIfAborted();
    const failureClass = error instanceof ClassifiedError ? `${error.failureClass}: ` : '';
    const what = `${failureClass}${error instanceof Error ? error.message : String(error)}`;
    return [{ part: 'canary', state: 'lacks', what, mend: 'see docs/run-kubernetes.md' }];
  } finally {
    await driver.removeAll(labels);
  }
}

/** What cannot be seen is worth a note, and no reason not to grade. */
async function seen(part: string, look: () => Promise<ClusterFinding>): Promise<ClusterFinding> {
  try {
    return await look();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { part, state: 'note', what: `it could not be seen: ${why}`, mend: null };
  }
}

function canaryFinding({ targets }: EgressSurvey): ClusterFinding {
  const names = (provable: boolean): string =>
    targets
      .filter((target) => target.provable === provable)
      .map((target) => target.name)
      .join(', ') || 'none';
  return has(
    'canary',
    `what answers a pod that is let out: ${names(true)}; what does not, and proves nothing: ${names(false)}`,
  );
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
  const late = settledMs === undefined ? '' : `, ${settledMs} ms after the pod began`;
  return has('policy', `a sandbox reaches none of ${probes.length} targets (${outcome})${late}`);
}

/** A limit of the pod is not seen from its container: as many are started as there may be. */
async function pidsFinding(sandbox: Sandbox): Promise<ClusterFinding> {
  const argv = [
    'sh',
    '-c',
    `i=0; while [ $i -lt ${mostProcesses} ]; do sleep 300 & i=$((i+1)); echo $i; done`,
  ];
  const { stdout } = await sandbox.run({ id: 'pids', argv, timeoutMs: commandMs });
  await sandbox.kill('pids');
  const begun = Number(Buffer.from(stdout).toString('utf8').trim().split('\n').at(-1));
  return begun < mostProcesses
    ? has('pids limit', `a pod begins no more than ${begun} processes of its own`)
    : {
        part: 'pids limit',
        state: 'note',
        what: `none that ${mostProcesses} processes would meet`,
        mend: 'set podPidsLimit in the configuration of the kubelets, so that no task can use a node up',
      };
}

async function userNamespaceFinding(sandbox: Sandbox): Promise<ClusterFinding> {
  const argv = ['cat', '/proc/self/uid_map'];
  const { stdout } = await sandbox.run({ id: 'users', argv, timeoutMs: commandMs });
  const [inside, outside] = Buffer.from(stdout).toString('utf8').trim().split(/\s+/);
  return inside === outside
    ? {
        part: 'user namespaces',
        state: 'note',
        what: 'not in use: root in a sandbox is root of its node, without most capabilities',
        mend: 'where the runtime has them, set pod.userNamespaces to auto in the file',
      }
    : has('user namespaces', `root in a sandbox is ${outside ?? 'another user'} of its node`);
}

/** What a process over the limit takes with it: an agent that meets it goes on, or has ended. Rates differ by it. */
async function oomFinding(sandbox: Sandbox): Promise<ClusterFinding> {
  const part = 'out of memory';
  try {
    const ended = await sandbox.run({ id: 'oom', argv: ['sh', '-c', hog], timeoutMs: commandMs });
    const state = await sandbox.state();
    if (state.kind === 'gone' && state.why === 'oom') return has(part, 'ends the whole container');
    return ended.signal === null
      ? { part, state: 'note', what: `not seen: the process ended with ${ended.exitCode}`, mend: null }
      : has(part, 'ends the process alone; the episode goes on');
  } catch (error) {
    if (error instanceof SandboxGone && error.state.kind === 'gone' && error.state.why === 'oom') {
      return has(part, 'ends the whole container');
    }
    throw error;
  }
}
