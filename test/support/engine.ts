// A container engine for tests: the one that PASSBAND_TEST_ENGINE names, or a Podman service of this process's own.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEndpoint, type Endpoint } from '../../sandbox/engine/endpoint.ts';

export interface TestEngine {
  readonly endpoint: Endpoint;
  /** Ends the service; containers go on. */
  stop(): Promise<void>;
  /** Ends it and starts it anew under the same address. */
  restart(): Promise<void>;
}

export async function startTestEngine(): Promise<TestEngine> {
  const given = process.env['PASSBAND_TEST_ENGINE'];
  if (given !== undefined) {
    const nothing = () => Promise.resolve();
    return { endpoint: parseEndpoint(given), stop: nothing, restart: nothing };
  }
  const dir = await mkdtemp(join(tmpdir(), 'passband-engine-'));
  const socket = join(dir, 'engine.sock');
  const conf = join(dir, 'containers.conf');
  const limits = 'default_ulimits=["nofile=20000:20000","nproc=20000:20000"]';
  const runtime = existsSync('/sys/fs/cgroup/cgroup.controllers') ? '' : 'runtime="runc"\n';
  await writeFile(
    conf,
    `[containers]\n${limits}\n[engine]\n${runtime}cgroup_manager="cgroupfs"\nevents_logger="file"\n`,
  );
  let service = await startService(socket, conf);
  return {
    endpoint: parseEndpoint(socket),
    stop: async () => {
      await stopService(service);
      await rm(dir, { recursive: true, force: true });
    },
    restart: async () => {
      await stopService(service);
      await rm(socket, { force: true });
      service = await startService(socket, conf);
    },
  };
}

async function startService(socket: string, conf: string): Promise<ChildProcess> {
  const service = spawn('podman', ['system', 'service', '-t', '0', `unix://${socket}`], {
    env: { ...process.env, CONTAINERS_CONF: conf },
    stdio: 'ignore',
  });
  for (let waitedMs = 0; waitedMs < 20_000; waitedMs += 50) {
    if (existsSync(socket)) return service;
    if (service.exitCode !== null) throw new Error(`podman system service ended with ${service.exitCode}`);
    await sleep(50);
  }
  throw new Error('podman system service made no socket');
}

async function stopService(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null) return;
  const ended = new Promise((resolve) => service.once('exit', resolve));
  service.kill('SIGTERM');
  await Promise.race([ended, sleep(5_000)]);
  service.kill('SIGKILL');
}
