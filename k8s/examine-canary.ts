// What doctor sees with pods of its own: what a canary reaches, and what a trial's pod sees on each node.
import { randomUUID } from 'node:crypto';
import { ClassifiedError } from '../domain/errors.ts';
import type { Image } from '../domain/gate.ts';
import { sweepLabels } from '../domain/sandbox-labels.ts';
import type { EgressSurvey } from '../sandbox/egress.ts';
import type { SandboxDriver } from '../sandbox/port.ts';
import type { ClusterFinding } from './cluster-finding.ts';
import { has, lookFrom, lookingPod, memoryPart } from './examine-node.ts';
import type { UsableNode } from './nodes-room.ts';

/** Small, anywhere, and with a shell. */
const image = 'busybox:1';
const lifetimeSec = 300;
/** Nodes that are looked at: one of each kind is most often among them. */
const mostNodes = 8;

export interface CanaryCluster {
  readonly driver: SandboxDriver;
  readonly nodes: readonly UsableNode[];
  /** A driver whose sandboxes are on this node; closed when it was looked at. */
  on(node: UsableNode): SandboxDriver;
}

interface Looking {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: Image;
  readonly survey: EgressSurvey;
  readonly signal: AbortSignal;
}

interface NodeFindings {
  readonly node: string;
  readonly findings: readonly ClusterFinding[];
}

/**
 * Makes a canary, its peer and a sandbox on each node as a sweep would, looks, and removes them. A part that cannot be
 * seen is a finding; what could not be removed again is thrown.
 */
export async function examineCanary(cluster: CanaryCluster, signal: AbortSignal): Promise<ClusterFinding[]> {
  const { driver, nodes } = cluster;
  const id = randomUUID().slice(0, 8);
  const labels = sweepLabels('doctor', id);
  const name = `pb-doctor-${id}`;
  try {
    const request = { name: `${name}-egress`, labels, targets: [], lifetimeSec };
    const survey = await driver.surveyEgress(request, signal);
    const looking = {
      ...{ name, labels, survey, signal },
      image: await driver.images.ensure({ kind: 'prebuilt', reference: image }, signal),
    };
    const looked = await Promise.all(
      nodes.slice(0, mostNodes).map((node, at) => lookAt(cluster.on(node), node, at, looking)),
    );
    return [canaryFinding(survey, nodes), ...together(looked)];
  } catch (error) {
    signal.throwIfAborted();
    return [{ part: 'canary', state: 'lacks', what: wordsOf(error), mend: 'see docs/run-kubernetes.md' }];
  } finally {
    await driver.removeAll(labels);
  }
}

async function lookAt(
  driver: SandboxDriver,
  { name: node }: UsableNode,
  at: number,
  { name, labels, image, survey, signal }: Looking,
): Promise<NodeFindings> {
  try {
    const sandbox = await driver.create(
      {
        ...{ name: `${name}-node${at}`, labels, image, ...lookingPod },
        ...{ env: {}, workdir: null, network: 'deny', baseline: false, lifetimeSec },
      },
      signal,
    );
    return { node, findings: await lookFrom(sandbox, survey, signal) };
  } catch (error) {
    signal.throwIfAborted();
    const what = `no trial's pod could be looked from: ${wordsOf(error)}`;
    return { node, findings: [{ part: 'node', state: 'lacks', what, mend: 'mend the node, or cordon it' }] };
  } finally {
    await driver.close();
  }
}

const wordsOf = (error: unknown): string => {
  const failureClass = error instanceof ClassifiedError ? `${error.failureClass}: ` : '';
  return `${failureClass}${error instanceof Error ? error.message : String(error)}`;
};

function canaryFinding({ targets }: EgressSurvey, nodes: readonly UsableNode[]): ClusterFinding {
  const names = (provable: boolean): string =>
    targets
      .filter((target) => target.provable === provable)
      .map((target) => target.name)
      .join(', ') || 'none';
  const left = nodes.length - mostNodes;
  const unseen = left > 0 ? `; ${left} nodes were not looked at` : '';
  return has(
    'canary',
    `what answers a pod that is let out: ${names(true)}; what does not, and proves nothing: ${names(false)}${unseen}`,
  );
}

const weights = { lacks: 2, note: 1, has: 0 } as const;

/** A finding for each part: the worst of what was seen of it, with each thing that was seen and on which nodes. */
function together(looked: readonly NodeFindings[]): readonly ClusterFinding[] {
  const all = looked.flatMap(({ node, findings }) => findings.map((finding) => ({ node, finding })));
  return [...Map.groupBy(all, ({ finding }) => finding.part)].map(([part, seen]) => {
    const byWords = [...Map.groupBy(seen, ({ finding }) => finding.what)];
    const worst = seen
      .map(({ finding }) => finding)
      .reduce((one, other) => (weights[other.state] > weights[one.state] ? other : one));
    const what = byWords
      .map(([words, on]) => `${words} (${on.map(({ node }) => node).join(', ')})`)
      .join('; ');
    const mixed = part === memoryPart && byWords.length > 1;
    return mixed ? { part, state: 'note', what, mend: alike } : { ...worst, what };
  });
}

const alike = 'set singleProcessOOMKill alike in the KubeletConfiguration of every node: rates differ by it';
