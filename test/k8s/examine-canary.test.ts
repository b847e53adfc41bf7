// What doctor makes of what pods see: each part once, by the worst of it, with the nodes that it was seen on.
import { describe, expect, it } from 'vitest';
import { examineCanary } from '../../k8s/examine-canary.ts';
import { requestsFinding } from '../../k8s/examine.ts';
import { KubernetesConfigSchema } from '../../k8s/config.ts';
import { ClassifiedError } from '../../domain/errors.ts';
import { SandboxGone, type Command, type CommandResult } from '../../sandbox/port.ts';
import { fakeDriver, quiet, type Behaviour, type FakeSandbox } from '../activities/fake-driver.ts';

interface Seen {
  /** Processes that could be begun. */
  readonly begun?: number;
  /** What is asked by `stat -f`. */
  readonly files?: string;
  readonly users?: string;
  readonly memory?: 'process' | 'sandbox';
  readonly network?: Behaviour['network'];
}

const gone = { kind: 'gone', cause: 'self', why: 'oom', reason: 'memory' } as const;

/** As a node answers what is tried on it. */
function nodeOf(seen: Seen): Behaviour {
  const { begun = 1_012, files = '16777216 16000000 66053021 4096', users = '0 100000 65536' } = seen;
  const out = (text: string): Partial<CommandResult> => ({ stdout: Buffer.from(text) });
  const onRun = ({ id }: Command, sandbox: FakeSandbox) => {
    if (id === 'users') return out(users);
    if (id === 'files') return out(files);
    if (id === 'pids') return out(`1\n2\n${begun}\n`);
    if (seen.memory !== 'sandbox') return { exitCode: 137, signal: 9 };
    sandbox.now = gone;
    return Promise.reject(new SandboxGone(gone));
  };
  return { ...quiet, network: seen.network ?? 'denied', onRun };
}

async function findingsOf(nodes: Readonly<Record<string, Seen | Error>>) {
  const driver = fakeDriver(() => quiet);
  const drivers = new Map(
    Object.entries(nodes).map(([name, seen]) => {
      const one = fakeDriver(() => (seen instanceof Error ? quiet : nodeOf(seen)));
      if (seen instanceof Error) one.create = () => Promise.reject(seen);
      return [name, one] as const;
    }),
  );
  const cluster = {
    ...{ driver, nodes: Object.keys(nodes).map((name) => ({ name, hostname: `${name}.internal` })) },
    on: ({ name }: { readonly name: string }) => drivers.get(name) ?? driver,
  };
  const findings = await examineCanary(cluster, new AbortController().signal);
  return (part: string) => findings.filter((finding) => finding.part === part);
}

describe('what pods see', () => {
  it('is told once where all nodes are alike', async () => {
    const of = await findingsOf({ a: {}, b: {} });
    expect(of('policy')).toMatchObject([
      { state: 'has', what: expect.stringMatching(/\(a, b\)$/) as string },
    ]);
    expect(of('user namespaces')).toMatchObject([
      { state: 'has', what: 'root in a sandbox is 100000 of its node (a, b)' },
    ]);
    expect(of('pids limit')).toMatchObject([
      { state: 'has', what: 'a pod begins no more than about 1010 processes of its own (a, b)' },
    ]);
    expect(of('node')).toEqual([]);
  });

  it('is told by node where they differ, by the worst of it', async () => {
    const of = await findingsOf({ a: { network: 'open' }, b: { begun: 1_200 }, c: { begun: 90 } });
    expect(of('policy')).toMatchObject([{ state: 'lacks' }]);
    expect(of('policy')[0]?.what).toMatch(
      /^a sandbox reaches a network \(a\); a sandbox reaches none .*\(b, c\)$/,
    );
    const [pids] = of('pids limit');
    expect(pids).toMatchObject({ state: 'note', mend: expect.stringContaining('podPidsLimit') as string });
    expect(pids?.what).toMatch(
      /\(a\); none that 1200 processes would meet.*\(b\); .* about 90 .*promised 512 \(c\)$/,
    );
  });

  it('C40: says what an OOM ends, and that nodes which differ in it give different rates', async () => {
    const process = await findingsOf({ a: {} });
    expect(process('out of memory')).toMatchObject([
      {
        state: 'has',
        what: 'ends the process alone, and the episode goes on; verdicts say memoryEnds: process (a)',
      },
    ]);
    const whole = await findingsOf({ a: { memory: 'sandbox' } });
    expect(whole('out of memory')[0]?.what).toMatch(/^ends the whole container, and with it the episode/);
    const mixed = await findingsOf({ a: {}, b: { memory: 'sandbox' } });
    expect(mixed('out of memory')).toMatchObject([
      { state: 'note', mend: expect.stringContaining('singleProcessOOMKill') as string },
    ]);
  });

  it('says how many files a node has for those that its pods may make', async () => {
    const files = async (told: string) => (await findingsOf({ a: { files: told } }))('files')[0];
    expect(await files('16777216 16000000 66053021 4096')).toMatchObject({ state: 'has' });
    expect(await files('0 0 66053021 4096')).toMatchObject({ state: 'has' });
    expect(await files('1000000 900000 66053021 4096')).toMatchObject({
      ...{ state: 'note', mend: expect.stringContaining('nodefs.inodesFree') as string },
    });
    expect(await files('stat: unknown option')).toMatchObject({ state: 'note' });
  });

  it('names a node that no pod could be looked from, and tells what the others see', async () => {
    const of = await findingsOf({ a: new ClassifiedError('SandboxUnschedulable', 'no place'), b: {} });
    expect(of('node')).toMatchObject([
      { state: 'lacks', what: "no trial's pod could be looked from: SandboxUnschedulable: no place (a)" },
    ]);
    expect(of('policy')[0]?.what).toMatch(/\(b\)$/);
  });
});

describe('what pods request', () => {
  it('is worth a note where it is not all that they may use', () => {
    const config = (pod: object) =>
      KubernetesConfigSchema.parse({ registry: { repository: 'registry.internal' }, pod });
    expect(requestsFinding(config({}))).toMatchObject({ state: 'has' });
    expect(requestsFinding(config({ requestedCpus: 0.5 }))).toMatchObject({
      ...{ state: 'note', what: expect.stringContaining('0.5 of their cpus') as string },
    });
  });
});
