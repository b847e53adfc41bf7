// The scheduler's words about a pod without a node: whether there is no room now, or no such node at all.

/** `0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {a: b}. preemption: ...`. */
const counted = /^(\d+)\/(\d+) nodes are available:? ?(.*)$/is;

/** Taints that the cluster itself lays on a node for a while. */
const passing = /node\.kubernetes\.io\/|node\.cloudprovider\.kubernetes\.io\/|node\(s\) were unschedulable/i;
/** What no room that gets free will change. */
const ofKind = /didn't match Pod's node affinity\/selector|untolerated taint|didn't satisfy/i;

export interface PlaceWait {
  readonly hopeless: boolean;
  readonly reason: string;
}

/** What a pod waits for, by the message of its PodScheduled condition. */
export function waitsForPlace(message: string): PlaceWait {
  const plain = message.replaceAll(/\s+/g, ' ').trim().slice(0, 600);
  const parsed = counted.exec(plain);
  if (parsed === null) return { hopeless: false, reason: plain === '' ? 'not scheduled yet' : plain };
  const why = (parsed[3] ?? '').replace(/\.? ?preemption:.*$/i, '');
  // A cluster without nodes just now gets some.
  if (Number(parsed[2]) === 0) return { hopeless: false, reason: plain };
  const parts = why.split(/, (?=\d+ )/).filter((part) => part !== '');
  const hopeless = parts.length > 0 && parts.every((part) => ofKind.test(part) && !passing.test(part));
  return { hopeless, reason: plain };
}

const units: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
};

/** A quantity of Kubernetes' (`250m`, `2Gi`) as a number; null where it is none. */
export function quantityOf(text: string | undefined): number | null {
  const parsed = /^([0-9.]+)([a-zA-Z]*)$/.exec(text ?? '');
  const unit = units[parsed?.[2] ?? ''];
  return parsed === null || unit === undefined ? null : Number(parsed[1]) * unit;
}

/** What the containers of one pod ask for together. */
export function summedRequests(
  containers: readonly {
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> | undefined } | undefined;
  }[],
): Readonly<Record<string, string>> {
  const all = containers.map(({ resources }) => resources?.requests ?? {});
  const [only, ...others] = all;
  if (only === undefined || others.length === 0) return only ?? {};
  const sums = new Map<string, number>();
  for (const [resource, amount] of all.flatMap((requests) => Object.entries(requests))) {
    sums.set(resource, (sums.get(resource) ?? 0) + (quantityOf(amount) ?? 0));
  }
  return Object.fromEntries([...sums].map(([resource, amount]) => [resource, String(amount)]));
}

/** Which of the requests no node has in all; empty where one node has them all, or none is known. */
export function beyondAll(
  requests: Readonly<Record<string, string>>,
  nodes: readonly Readonly<Record<string, string>>[],
): readonly string[] {
  if (nodes.length === 0) return [];
  const larger = (resource: string, allocatable: Readonly<Record<string, string>>): boolean => {
    const wanted = quantityOf(requests[resource]);
    const there = quantityOf(allocatable[resource]);
    return wanted !== null && there !== null && wanted > there;
  };
  const resources = Object.keys(requests);
  if (nodes.some((node) => !resources.some((resource) => larger(resource, node)))) return [];
  const beyond = resources.filter((resource) => nodes.every((node) => larger(resource, node)));
  return beyond.length > 0 ? beyond : resources;
}
