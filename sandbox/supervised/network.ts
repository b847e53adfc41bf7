// The network of a sandbox, read and tried from inside: there is no way out, or none that answers.
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import type { NetworkProof } from '../../domain/network.ts';
import { ConnectionLost } from '../protocol/frames.ts';
import { ProofResponse } from '../protocol/responses.ts';
import { UntriedProof, type EgressSurvey, type ProofTarget } from '../egress.ts';
import { recovering } from './recovery.ts';
import type { Supervised } from './supervised.ts';

/** How long one target may take to answer. Where a policy rejects, it is refused at once. */
const timeoutMs = 1_000;
/**
 * The same while a policy may be on its way. A question that was sent before it and answered after it is met by silence,
 * so silence is asked once more, and waited for in full only then.
 */
const settlingTimeoutMs = 200;
/** Between two questions while a policy is on its way. */
const askAgainMs = 50;

type Proof = z.infer<typeof ProofResponse>;
type Probe = NonNullable<Proof['probes']>[number];
interface Asked {
  readonly name: string;
  readonly kind: ProofTarget['kind'] | 'tcp-neighbours';
  readonly host: string;
  readonly port: number;
}
type Target = Asked & { readonly provable: boolean };

/**
 * What lies on the sandbox's own link, over IPv6: a policy for IPv4 alone lets it through. What listens there differs from
 * node to node, so that nobody can show beforehand that it would answer: it is told where it does, and else not at all.
 */
const neighbours: readonly Target[] = [
  ['kubelet over IPv6 link-local', 10_250] as const,
  ['SSH over IPv6 link-local', 22] as const,
].map(([name, port]) => ({ name, kind: 'tcp-neighbours', host: '', port, provable: false }));

/**
 * Where nothing but loopback should be there: `denied` where nothing else can carry anything, `open` where something
 * can. Where a policy should deny: `denied` where no target answers, `open` where one does (after `settleMs` still),
 * `unprovable` where none of them could have answered. `unprovable` as well where no interfaces are shown at all.
 * @throws UntriedProof where none answers, and one that could have was not asked
 */
export async function proveNetwork(
  sandbox: Supervised,
  survey: EgressSurvey,
  { settleMs, signal }: { readonly settleMs: number; readonly signal?: AbortSignal },
): Promise<NetworkProof> {
  const { facts, link } = sandbox;
  if (facts.network === 'as-declared') {
    return proofOf('as-declared', await ask(sandbox, [], timeoutMs, signal));
  }
  if (link.isolation === 'loopback') {
    const seen = await ask(sandbox, [], timeoutMs, signal);
    return proofOf(loopbackOutcome(seen), seen);
  }
  const targets = targetsOf(survey, link.ownTargets);
  const begunMs = performance.now();
  let answeredMs: number | null = null;
  let patienceMs = settleMs > 0 ? settlingTimeoutMs : timeoutMs;
  for (;;) {
    const seen = await ask(sandbox, [...targets, ...neighbours], patienceMs, signal);
    const open = (seen.probes ?? []).some(({ outcome }) => outcome === 'open');
    const nowMs = performance.now() - begunMs;
    if (!open && patienceMs < timeoutMs && (seen.probes ?? []).slice(0, targets.length).some(isUnheard)) {
      patienceMs = timeoutMs;
      continue;
    }
    if (!open || nowMs >= settleMs) {
      if (!open) requireTried(seen, targets);
      const probes = [...judged(seen, targets), ...unnamed(survey)];
      const settled = open || answeredMs === null ? {} : { settledMs: Math.round(nowMs) };
      return { ...proofOf(policyOutcome(seen, targets, open), seen), probes, ...settled };
    }
    answeredMs = nowMs;
    patienceMs = settlingTimeoutMs;
    await sleep(askAgainMs, undefined, signal === undefined ? {} : { signal });
  }
}

/**
 * Addresses alone: what runs in a sandbox writes the files by which names are looked up there. A sandbox's own target is
 * provable where the survey's of its name is: the same kind of place, elsewhere.
 */
function targetsOf(survey: EgressSurvey, own: readonly ProofTarget[]): readonly Target[] {
  const provable = new Set(survey.targets.filter((target) => target.provable).map(({ name }) => name));
  const all = [
    ...survey.targets,
    ...own.map((target) => ({ ...target, provable: provable.has(target.name) })),
  ];
  return all.filter(isAddress);
}

const isAddress = ({ host }: Pick<ProofTarget, 'host'>): boolean => isIP(host) !== 0;

async function ask(
  sandbox: Supervised,
  targets: readonly Target[],
  patienceMs: number,
  signal: AbortSignal | undefined,
): Promise<Proof> {
  const asked = targets.map(({ name, kind, host, port }) => ({ name, kind, host, port }));
  const request = { op: 'proof', targets: asked, timeoutMs: patienceMs };
  const { response } = await recovering(sandbox, 'network proof', async (connection) => {
    const exchanged = await connection.exchange({ request, response: ProofResponse, signal });
    const answered = exchanged.response.probes ?? [];
    const right =
      answered.length === asked.length && asked.every(({ name }, at) => name === answered[at]?.target);
    if (!right) throw new ConnectionLost(`${answered.length} answers came to ${asked.length} targets`);
    return exchanged;
  });
  return response;
}

/** As the supervisor tells it (toolbox/PROTOCOL.md): neither an answer nor a refusal came, or there was no time to ask. */
const isUnheard = ({ outcome, detail }: Probe): boolean =>
  outcome === 'untried' || (outcome === 'denied' && detail.startsWith('no answer'));

function requireTried(seen: Proof, targets: readonly Target[]): void {
  const untried = (seen.probes ?? []).filter(
    ({ outcome }, at) => outcome === 'untried' && targets[at]?.provable === true,
  );
  const [first] = untried;
  if (first === undefined) return;
  const names = untried.map(({ target }) => target).join(', ');
  throw new UntriedProof(`closed egress could not be tried: ${names}: ${first.detail}`);
}

/** What could not have answered is not denied by its silence; a neighbour is told where it answered. */
function judged(seen: Proof, targets: readonly Target[]): NetworkProof['probes'] {
  const told = (seen.probes ?? []).filter(({ outcome }, at) => at < targets.length || outcome === 'open');
  return told.map(({ target, outcome, detail, ms }, at) => {
    const shown = outcome === 'open' || (outcome === 'denied' && targets[at]?.provable === true);
    return { target, outcome: shown ? outcome : 'unprovable', detail, ms };
  });
}

const unnamed = ({ targets }: EgressSurvey): NetworkProof['probes'] =>
  targets
    .filter((target) => !isAddress(target))
    .map(({ name, detail }) => ({ target: name, outcome: 'unprovable', detail, ms: 0 }));

function policyOutcome(seen: Proof, targets: readonly Target[], open: boolean): NetworkProof['outcome'] {
  if (open) return 'open';
  const shown = interfacesOf(seen).length > 0 && targets.some(({ provable }) => provable);
  return shown ? 'denied' : 'unprovable';
}

/** Kernels with tunnel modules put devices without addresses into every network namespace: those lead nowhere. */
function loopbackOutcome(seen: Proof): NetworkProof['outcome'] {
  const interfaces = interfacesOf(seen);
  if (interfaces.length === 0) return 'unprovable';
  const out = interfaces.some(({ name, addresses }) => name !== 'lo' && addresses.length > 0);
  return out || (seen.routes ?? []).some((route) => !/ dev lo$/.test(route)) ? 'open' : 'denied';
}

function proofOf(outcome: NetworkProof['outcome'], seen: Proof): NetworkProof {
  return {
    outcome,
    interfaces: interfacesOf(seen),
    routes: seen.routes ?? [],
    probes: [],
    at: new Date().toISOString(),
  };
}

const interfacesOf = (seen: Proof): NetworkProof['interfaces'] =>
  (seen.interfaces ?? []).map(({ name, addresses }) => ({ name, addresses: addresses ?? [] }));
