// The services of a task: started behind the barrier, fresh in every verifier, and whose fault it is where one fails.
import { afterEach, describe, expect, it } from 'vitest';
import { passBarrier } from '../../activities/barrier.ts';
import { collect } from '../../activities/collect.ts';
import { prepareTask } from '../../activities/gate/prepare-task.ts';
import { preparedKey, PreparedSchema } from '../../activities/ground.ts';
import { provision } from '../../activities/provision.ts';
import type { Subject } from '../../activities/types.ts';
import { GateRecordSchema } from '../../domain/gate.ts';
import { refusalKey } from '../../domain/layout.ts';
import type { Service, TaskServices } from '../../domain/services.ts';
import type { Task } from '../../domain/task.ts';
import { SandboxGone } from '../../sandbox/port.ts';
import { putJson, readJson } from '../../store/objects.ts';
import { quiet, type Behaviour, type FakeSandbox } from './fake-driver.ts';
import { gateKey, openLab, type Lab } from './lab.ts';
import { agentWith, leaving, pass } from './verify/behaviours.ts';

let lab: Lab;
afterEach(async () => {
  await lab.close();
});

const plain = {
  ...{ entrypoint: null, command: null, user: null, healthcheck: null, dependsOn: [], mounts: [] },
  ...{ restart: { policy: 'no' as const }, shmMiB: null, ports: [] },
};
const sidecar = (name: string, more: Partial<Service>): Service => ({
  ...plain,
  ...{ name, image: { kind: 'prebuilt' as const, reference: name }, env: {} },
  ...{ workdir: null, cpus: null, memoryMiB: null },
  ...more,
});
const health = {
  ...{ argv: ['ready'], intervalSec: 0.01, timeoutSec: 1 },
  ...{ startPeriodSec: null, startIntervalSec: null, retries: 2 },
};
const services: TaskServices = {
  main: {
    ...plain,
    command: ['watch'],
    dependsOn: [{ service: 'api', condition: 'healthy' }],
    mounts: [{ kind: 'files', source: 'tests/test.sh', path: '/check.sh' }],
  },
  sidecars: [
    sidecar('api', { command: ['serve'], healthcheck: health, mounts: [{ kind: 'folder', path: '/data' }] }),
  ],
  hosts: [],
};
const image = { reference: 'image', digest: 'sha256:image' };
const serviceImages = { api: image };
const task: Partial<Task> = { services, needs: ['compose'] };

async function open(behaviourOf: (phase: string) => Behaviour, fields = task): Promise<void> {
  lab = await openLab({ behaviourOf, task: fields });
  await lab.putGate({ serviceImages });
  const pristine = { path: [], imports: [], libraries: [], homes: [], workdir: '/work' };
  await putJson(lab.world.store, preparedKey(gateKey, 'lab'), PreparedSchema, {
    ...{ format: 'passband.prepared', version: 1, image, verifierImage: null, serviceImages, pristine },
  });
}

async function begin(subject: Subject): Promise<FakeSandbox> {
  await provision(lab.world, { subject }, lab.run);
  await passBarrier(lab.world, { subject }, lab.run);
  return made('agent');
}

function made(phase: string): FakeSandbox {
  const sandbox = lab.driver.made.get(phase);
  if (sandbox === undefined) throw new Error(`no sandbox of phase ${phase} was made`);
  return sandbox;
}

const besideOf = (sandbox: FakeSandbox): FakeSandbox => {
  const service = sandbox.services.get('api');
  if (service === undefined) throw new Error('there is no service api');
  return service;
};

const unhealthy: Behaviour = {
  ...quiet,
  onRun: ({ argv }) =>
    argv[0] === 'ready' ? { exitCode: 1 } : argv[0] === 'serve' ? new Promise<never>(() => undefined) : {},
};
/** Its service goes on: what asks for its end waits. */
const serving: Behaviour = {
  ...quiet,
  onRun: ({ argv }) => (argv[0] === 'serve' ? new Promise<never>(() => undefined) : {}),
};

describe('the services of a task', () => {
  it('get their files and start in their order, once the network is proved to be closed', async () => {
    await open(() => serving);
    const main = await begin(lab.trial());
    const service = besideOf(main);
    expect(service.asked.filter((one) => !one.startsWith('run serve'))).toEqual([
      ...['list', 'put /data', 'put /', 'start service', 'run ready'],
    ]);
    const [proof, ...after] = main.asked.filter((one) => one !== 'list');
    expect(proof).toBe('proof');
    expect(after).toEqual(['put /', 'put /', 'put /', 'start service']);
  });

  it.each([
    ['gate', 'TaskInvalid'],
    ['trial', 'SandboxLost'],
  ] as const)('that one stays unhealthy is, in a %s, %s', async (kind, failureClass) => {
    await open(() => unhealthy);
    const subject = kind === 'gate' ? lab.side('oracle') : lab.trial();
    await expect(begin(subject)).rejects.toMatchObject({
      failureClass,
      message: expect.stringContaining('service api is unhealthy, 2 times in a row') as string,
    });
  });

  it('that the container of one has ended is no end of the sandbox', async () => {
    const ended = { kind: 'gone', cause: 'self', why: 'oom' } as const;
    await open(() => ({
      ...serving,
      onRun: ({ argv }) =>
        argv[0] === 'ready'
          ? Promise.reject(new SandboxGone({ ...ended, reason: 'the container of service api ended' }))
          : serving.onRun({ id: 'x', argv, timeoutMs: null }, made('agent')),
    }));
    await expect(begin(lab.trial())).rejects.toMatchObject({
      ...{ failureClass: 'SandboxLost', message: 'the container of service api ended' },
    });
  });

  it('are there anew in a separate verifier, where what main starts is not started', async () => {
    const verifier: Behaviour = {
      ...leaving(pass),
      onRun: (command, sandbox) =>
        command.argv[0] === 'serve' ? serving.onRun(command, sandbox) : leaving(pass).onRun(command, sandbox),
    };
    await open((phase) =>
      phase === 'agent' ? { ...serving, ...agentWith('/work/a'), onRun: serving.onRun } : verifier,
    );
    expect((await lab.grade(lab.trial())).result).toBe('passed');
    const fresh = made('verifier-0');
    expect(besideOf(fresh).asked).toContain('start service');
    expect(besideOf(fresh)).not.toBe(besideOf(made('agent')));
    expect(fresh.asked).not.toContain('start service');
    expect(fresh.asked.indexOf('proof')).toBe(0);
  });

  it('are refused, by what their images say, before anything of them runs', async () => {
    lab = await openLab({ behaviourOf: () => serving, task: { ...task, needs: [] } });
    lab.driver.clash = (given) =>
      Promise.resolve(`compose: ${given.sidecars.map(({ name }) => name).join(', ')} and main`);
    const input = { sweep: 'lab', plan: lab.plan, task: 0 };
    expect(await prepareTask(lab.world, input, lab.run)).toEqual({
      ...{ outcome: 'rejected', reason: 'unsupported' },
    });
    const refusal = await readJson(lab.world.store, refusalKey('lab', 'lab--task'), GateRecordSchema);
    expect(refusal?.message).toBe('compose: api and main');
    expect(await lab.driver.list({})).toEqual([]);
  });

  it('leave their images in what the gate prepares', async () => {
    lab = await openLab({ behaviourOf: () => serving, task: { ...task, needs: [] } });
    const input = { sweep: 'lab', plan: lab.plan, task: 0 };
    expect(await prepareTask(lab.world, input, lab.run)).toMatchObject({ outcome: 'ready' });
    const prepared = await readJson(lab.world.store, preparedKey(gateKey, 'lab'), PreparedSchema);
    expect(prepared?.serviceImages).toEqual(serviceImages);
  });
});

describe('a collect hook', () => {
  const hook = { command: 'dump', service: 'api', timeoutSec: 1, user: null };
  const { signal } = new AbortController();

  it('runs in the container of its service', async () => {
    await open(() => serving);
    const main = await begin(lab.trial());
    expect(await collect(main, { collect: [hook] }, 0, signal)).toEqual([]);
    expect(besideOf(main).asked).toContain('run /bin/sh -c dump');
  });

  it('is named where there is no such service, or its container has ended', async () => {
    await open(() => serving);
    const main = await begin(lab.trial());
    besideOf(main).now = { kind: 'gone', cause: 'self', why: 'oom', reason: 'the service ended' };
    expect(await collect(main, { collect: [hook, { ...hook, service: 'db' }] }, 0, signal)).toEqual([
      'collect hook 1 (dump): the service ended',
      'collect hook 2 (dump): there is no service db',
    ]);
  });
});
