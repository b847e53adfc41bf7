import { describe, expect, it } from 'vitest';
import { NetworkProofSchema } from '../../../domain/network.ts';
import { UntriedProof, type EgressSurvey, type ProofTarget } from '../../../sandbox/egress.ts';
import type { Link } from '../../../sandbox/supervised/link.ts';
import { scriptedSandbox } from '../../support/scripted-supervisor.ts';

const target = (name: string, host = '10.0.0.1'): ProofTarget => ({ name, kind: 'tcp', host, port: 443 });

const surveyOf = (provable: Readonly<Record<string, boolean>>): EgressSurvey => ({
  targets: Object.entries(provable).map(([name, is]) => ({ ...target(name), provable: is, detail: '' })),
  at: '2026-01-01T00:00:00Z',
});

const eth0 = { name: 'eth0', addresses: ['10.244.1.7/24'] };
const lo = { name: 'lo', addresses: ['127.0.0.1/8'] };

/** What the supervisor saw: each target, and how it ended. */
const seen = (probes: Readonly<Record<string, string>>, interfaces: readonly object[] = [lo, eth0]) => ({
  interfaces,
  routes: ['0.0.0.0/0 via 10.244.1.1 dev eth0'],
  probes: [...Object.entries(probes).map(([name, outcome]) => probeOf(name, outcome)), ...quietNeighbours],
});

const probeOf = (name: string, outcome: string) => ({
  ...{ target: name, outcome, detail: `was ${outcome}`, address: null, ms: 1 },
});

/** What every proof under a policy tries beside its targets. */
const neighbourNames = ['kubelet over IPv6 link-local', 'SSH over IPv6 link-local'];
const quietNeighbours = neighbourNames.map((name) => probeOf(name, 'denied'));
const askedNeighbours = neighbourNames.map((name, at) => ({
  ...{ name, kind: 'tcp-neighbours', host: '', port: at === 0 ? 10_250 : 22 },
}));

const policy: Partial<Link> = { isolation: 'policy' };
const once = { settleMs: 0 };

describe('the network proof under a policy', () => {
  it('is denied where no target answers that answers elsewhere (C49, C50)', async () => {
    const { attached, asked } = scriptedSandbox({ proof: [seen({ api: 'denied', dns: 'denied' })] }, policy);
    const proof = await (await attached).proveNetwork(surveyOf({ api: true, dns: true }), once);
    expect(proof).toMatchObject({ outcome: 'denied', interfaces: [lo, eth0] });
    expect(proof.probes.map(({ target, outcome }) => [target, outcome])).toEqual([
      ['api', 'denied'],
      ['dns', 'denied'],
    ]);
    expect(proof).not.toHaveProperty('settledMs');
    expect(asked.filter(({ op }) => op === 'proof')).toEqual([
      {
        op: 'proof',
        timeoutMs: 1_000,
        targets: [target('api'), target('dns'), ...askedNeighbours],
      },
    ]);
    expect(NetworkProofSchema.parse(proof)).toEqual(proof);
  });

  it('is open where one answers, one that the survey never saw answer too', async () => {
    const { attached } = scriptedSandbox({ proof: [seen({ api: 'denied', model: 'open' })] }, policy);
    const proof = await (await attached).proveNetwork(surveyOf({ api: true, model: false }), once);
    expect(proof).toMatchObject({ outcome: 'open', probes: [{ outcome: 'denied' }, { outcome: 'open' }] });
  });

  it('is open where a neighbour answers over IPv6, which the policy may not cover, and tells of none that does not', async () => {
    const open = {
      ...seen({}),
      probes: [
        probeOf('api', 'denied'),
        ...quietNeighbours.slice(0, 1),
        probeOf(neighbourNames[1] ?? '', 'open'),
      ],
    };
    const { attached } = scriptedSandbox({ proof: [open] }, policy);
    const proof = await (await attached).proveNetwork(surveyOf({ api: true }), once);
    expect(proof.outcome).toBe('open');
    expect(proof.probes.map(({ target, outcome }) => [target, outcome])).toEqual([
      ['api', 'denied'],
      ['SSH over IPv6 link-local', 'open'],
    ]);
  });

  it('never calls denied what could not have answered', async () => {
    const probes = { proof: [seen({ api: 'denied', outside: 'denied' })] };
    const some = scriptedSandbox(probes, policy);
    const proof = await (await some.attached).proveNetwork(surveyOf({ api: true, outside: false }), once);
    expect(proof).toMatchObject({ outcome: 'denied', probes: [{}, { outcome: 'unprovable' }] });
    const none = scriptedSandbox(probes, policy);
    const nothing = await (await none.attached).proveNetwork(surveyOf({ api: false, outside: false }), once);
    expect(nothing.outcome).toBe('unprovable');
  });

  it.each([true, false])(
    'is neither denied nor unprovable where one that could have answered was not asked (time to settle: %s)',
    async (settles) => {
      const local = 'connect: cannot assign requested address';
      const probes = [{ ...probeOf('api', 'untried'), detail: local }, probeOf('dns', 'denied')];
      const untried = { ...seen({}), probes: [...probes, ...quietNeighbours] };
      const { attached } = scriptedSandbox({ proof: [untried] }, policy);
      const proving = (await attached).proveNetwork(surveyOf({ api: true, dns: true }), {
        settleMs: settles ? 10_000 : 0,
      });
      await expect(proving).rejects.toBeInstanceOf(UntriedProof);
      await expect(proving).rejects.toMatchObject({
        failureClass: 'ExecBroken',
        message: `closed egress could not be tried: api: ${local}`,
      });
    },
  );

  it('is open where one answers, whatever else could not be asked', async () => {
    const { attached } = scriptedSandbox({ proof: [seen({ api: 'untried', dns: 'open' })] }, policy);
    const proof = await (await attached).proveNetwork(surveyOf({ api: true, dns: true }), once);
    expect(proof).toMatchObject({
      outcome: 'open',
      probes: [{ outcome: 'unprovable' }, { outcome: 'open' }],
    });
    expect(NetworkProofSchema.parse(proof)).toEqual(proof);
  });

  it('stands where only what could not have answered, or a neighbour, was not asked', async () => {
    const quiet = { ...seen({}), probes: [probeOf('api', 'denied'), probeOf('outside', 'untried')] };
    const some = {
      ...quiet,
      probes: [...quiet.probes, ...neighbourNames.map((one) => probeOf(one, 'untried'))],
    };
    const { attached } = scriptedSandbox({ proof: [some] }, policy);
    const proof = await (await attached).proveNetwork(surveyOf({ api: true, outside: false }), once);
    expect(proof.outcome).toBe('denied');
    expect(proof.probes.map(({ outcome }) => outcome)).toEqual(['denied', 'unprovable']);
  });

  it('asks once more, with more patience, what there was no time to ask', async () => {
    const { attached, asked } = scriptedSandbox(
      { proof: [seen({ api: 'untried' }), seen({ api: 'denied' })] },
      policy,
    );
    const proof = await (await attached).proveNetwork(surveyOf({ api: true }), { settleMs: 10_000 });
    expect(proof.outcome).toBe('denied');
    const limits = asked.filter(({ op }) => op === 'proof').map((request) => request['timeoutMs']);
    expect(limits).toEqual([200, 1_000]);
  });

  it('asks for addresses alone: a sandbox looks names up in files that its agent writes', async () => {
    const { attached, asked } = scriptedSandbox({ proof: [seen({ api: 'denied' })] }, policy);
    const named = { ...target('model', 'model.example'), provable: false, detail: 'name not resolved' };
    const survey = surveyOf({ api: true });
    const proof = await (
      await attached
    ).proveNetwork({ ...survey, targets: [named, ...survey.targets] }, once);
    expect(asked.at(-1)?.['targets']).toEqual([target('api'), ...askedNeighbours]);
    expect(proof.probes).toMatchObject([
      { target: 'api', outcome: 'denied' },
      { target: 'model', outcome: 'unprovable', detail: 'name not resolved' },
    ]);
  });

  it('proves nothing with no target, or where no interface is shown', async () => {
    const without = scriptedSandbox({ proof: [seen({})] }, policy);
    expect((await (await without.attached).proveNetwork(surveyOf({}), once)).outcome).toBe('unprovable');
    const blind = scriptedSandbox({ proof: [seen({ api: 'denied' }, [])] }, policy);
    expect((await (await blind.attached).proveNetwork(surveyOf({ api: true }), once)).outcome).toBe(
      'unprovable',
    );
  });

  it('asks again while something answers, and tells how long it did (C47)', async () => {
    const open = seen({ api: 'open' });
    const { attached, asked } = scriptedSandbox(
      { proof: [open, open, open, seen({ api: 'denied' })] },
      policy,
    );
    const proof = await (await attached).proveNetwork(surveyOf({ api: true }), { settleMs: 10_000 });
    expect(proof.outcome).toBe('denied');
    expect(proof.settledMs).toBeGreaterThanOrEqual(140);
    expect(asked.filter(({ op }) => op === 'proof')).toHaveLength(4);
    expect(NetworkProofSchema.parse(proof)).toEqual(proof);
  });

  it('asks silence once more, and waits in full only then: a policy may have come between question and answer', async () => {
    const silent = {
      ...seen({}),
      probes: [
        {
          ...{ target: 'api', outcome: 'denied', detail: 'no answer within 200 ms', address: null, ms: 200 },
        },
        ...quietNeighbours,
      ],
    };
    const { attached, asked } = scriptedSandbox({ proof: [silent, seen({ api: 'denied' })] }, policy);
    const proof = await (await attached).proveNetwork(surveyOf({ api: true }), { settleMs: 10_000 });
    expect(proof).toMatchObject({ outcome: 'denied', probes: [{ detail: 'was denied' }] });
    const limits = asked.filter(({ op }) => op === 'proof').map((request) => request['timeoutMs']);
    expect(limits).toEqual([200, 1_000]);
  });

  it('is open where something answers until the time to settle is over', async () => {
    const { attached, asked } = scriptedSandbox({ proof: [seen({ api: 'open' })] }, policy);
    const proof = await (await attached).proveNetwork(surveyOf({ api: true }), { settleMs: 200 });
    expect(proof.outcome).toBe('open');
    expect(proof).not.toHaveProperty('settledMs');
    expect(asked.filter(({ op }) => op === 'proof').length).toBeGreaterThan(2);
  });

  it('ends at once when it is told to', async () => {
    const { attached } = scriptedSandbox({ proof: [seen({ api: 'open' })] }, policy);
    const proving = (await attached).proveNetwork(surveyOf({ api: true }), {
      settleMs: 60_000,
      signal: AbortSignal.timeout(100),
    });
    await expect(proving).rejects.toThrow(/aborted|timeout/i);
  });

  it('tries the places of its own node too, provable where the survey is of that name', async () => {
    const link: Partial<Link> = {
      ...policy,
      ownTargets: [target('kubelet', '10.0.0.9'), target('other', '10.0.0.8')],
    };
    const probes = { kubelet: 'denied' } as const;
    const both = {
      ...seen(probes),
      probes: [probeOf('kubelet', 'denied'), ...seen({ ...probes, other: 'denied' }).probes],
    };
    const { attached } = scriptedSandbox({ proof: [both] }, link);
    const proof = await (await attached).proveNetwork(surveyOf({ kubelet: true }), once);
    expect(proof.probes.map(({ target, outcome }) => [target, outcome])).toEqual([
      ['kubelet', 'denied'],
      ['kubelet', 'denied'],
      ['other', 'unprovable'],
    ]);
  });
});

/** Nothing was to be tried. */
const bare = (interfaces: readonly object[] = [lo, eth0]) => ({ ...seen({}, interfaces), probes: [] });

describe('the network proof of what has loopback alone', () => {
  it('asks for no target, and is denied by what there is', async () => {
    const { attached, asked } = scriptedSandbox({ proof: [{ ...bare([lo]), routes: [] }] });
    const proof = await (await attached).proveNetwork(surveyOf({ api: true }), { settleMs: 10_000 });
    expect(proof).toMatchObject({ outcome: 'denied', probes: [] });
    expect(asked.at(-1)).toMatchObject({ op: 'proof', targets: [] });
  });

  it('is open at once where there is another interface', async () => {
    const { attached, asked } = scriptedSandbox({ proof: [bare()] });
    const proof = await (await attached).proveNetwork(surveyOf({}), { settleMs: 10_000 });
    expect(proof.outcome).toBe('open');
    expect(asked.filter(({ op }) => op === 'proof')).toHaveLength(1);
  });

  it('is as declared where that was asked for, with a policy or without', async () => {
    for (const isolation of ['loopback', 'policy'] as const) {
      const { attached } = scriptedSandbox({ proof: [bare()] }, { isolation }, { network: 'as-declared' });
      const proof = await (await attached).proveNetwork(surveyOf({ api: true }), once);
      expect(proof).toMatchObject({ outcome: 'as-declared', probes: [] });
    }
  });
});
