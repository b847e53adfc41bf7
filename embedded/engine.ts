// Finds a container engine that answers, or starts Podman's API service for as long as this process lives.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InputError } from '../domain/errors.ts';
import { findOnPath } from './programs.ts';

/** Where an engine answers: a unix socket's path, or a DOCKER_HOST form (tcp://…). */
export interface Engine {
  readonly endpoint: string;
  /** Whether `stop` ends a service that this process started. */
  readonly started: boolean;
  readonly stop: () => Promise<void>;
}

const readyTimeoutMs = 20_000;
/** What engines give where nothing limits them. */
const mostFiles = 1_048_576;

/** Whether a Docker API answers at this unix socket. */
async function answers(socketPath: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const ping = request({ socketPath, path: '/_ping', timeout: 3_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    ping.on('timeout', () => ping.destroy());
    ping.on('error', () => resolve(false));
    ping.end();
  });
}

/** Sockets that engines listen on by default, in the order they are tried. */
function usualSockets(env: NodeJS.ProcessEnv): readonly string[] {
  const runtimeDir = env['XDG_RUNTIME_DIR'];
  return [
    '/var/run/docker.sock',
    '/run/podman/podman.sock',
    ...(runtimeDir === undefined
      ? []
      : [path.join(runtimeDir, 'docker.sock'), path.join(runtimeDir, 'podman/podman.sock')]),
  ];
}

/** The hard limit of a resource as /proc/self/limits names it, or null where it is unlimited or unknown. */
async function hardLimit(name: string): Promise<number | null> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const line = limits.split('\n').find((candidate) => candidate.startsWith(name));
  const value = Number(line?.slice(26).trim().split(/\s+/)[1]);
  return Number.isFinite(value) ? value : null;
}

/** Whoever runs an exec asks for its status within seconds of its end. */
const statusKeptSec = 30;

/**
 * Settings for a Podman service on a machine as it is: limits that may be set here, runc where crun refuses
 * (cgroup v1), no systemd where there is none.
 */
async function podmanConfig(): Promise<string> {
  const files = Math.min((await hardLimit('Max open files')) ?? mostFiles, mostFiles);
  // Podman lowers its own process limit to the kernel's highest process id, and cannot give more than it has.
  const highestId = Number(await readFile('/proc/sys/kernel/pid_max', 'utf8').catch(() => ''));
  const processes = Math.min((await hardLimit('Max processes')) ?? mostFiles, highestId || mostFiles);
  const lines = [
    '[containers]',
    `default_ulimits=["nofile=${files}:${files}","nproc=${processes}:${processes}"]`,
    '[engine]',
    // What keeps the exit status of each exec goes after this time: a sandbox that is gone leaves nothing for long.
    `exit_command_delay=${statusKeptSec}`,
  ];
  if (!existsSync('/sys/fs/cgroup/cgroup.controllers')) lines.push('runtime="runc"');
  if (!existsSync('/run/systemd/system')) lines.push('cgroup_manager="cgroupfs"', 'events_logger="file"');
  return `${lines.join('\n')}\n`;
}

/**
 * Runs a service until it ends, or until our end of its stdin closes: so that it goes with us, however we end. Then
 * its folder, the first argument, is removed.
 */
const guard = `
dir=$1; shift
exec 3<&0
"$@" < /dev/null 3<&- & service=$!
(cat <&3 > /dev/null; kill "$service") 2> /dev/null & watcher=$!
wait "$service"; status=$?
kill "$watcher" 2> /dev/null
rm -rf "$dir"
exit "$status"
`;

/** Where Podman itself puts layers on their way: the folder of short-lived files may be memory. */
const largeTemporary = '/var/tmp';

async function startPodman(podman: string, env: NodeJS.ProcessEnv): Promise<Engine> {
  const dir = await mkdtemp(path.join(env['TMPDIR'] ?? largeTemporary, 'passband-engine-'));
  const socketPath = path.join(dir, 'podman.sock');
  const config = path.join(dir, 'containers.conf');
  await writeFile(config, await podmanConfig());
  // A service that is killed while it builds an image leaves its work where it goes with the rest.
  const work = path.join(dir, 'tmp');
  await mkdir(work);
  // A process group of its own: Ctrl-C in a terminal reaches us first, and we end it when nothing needs it.
  const service = spawn(
    'sh',
    ['-c', guard, 'sh', dir, podman, 'system', 'service', '--time', '0', `unix://${socketPath}`],
    {
      env: { ...env, CONTAINERS_CONF: config, TMPDIR: work },
      stdio: ['pipe', 'ignore', 'pipe'],
      detached: true,
    },
  );
  let errors = '';
  service.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-2_000);
  });
  service.stdin.on('error', () => {
    // It is gone; its exit says so.
  });
  const exited = new Promise<void>((resolve) => {
    service.once('error', () => resolve());
    service.once('exit', () => resolve());
  });
  const hasEnded = (): boolean => service.exitCode !== null || service.signalCode !== null;
  const stop = async (): Promise<void> => {
    service.stdin.end();
    await Promise.race([exited, sleep(5_000, undefined, { ref: false })]);
    if (!hasEnded() && service.pid !== undefined) process.kill(-service.pid, 'SIGKILL');
    await rm(dir, { recursive: true, force: true });
  };
  const deadline = performance.now() + readyTimeoutMs;
  while (performance.now() < deadline && !hasEnded()) {
    if (await answers(socketPath)) return { endpoint: socketPath, started: true, stop };
    await sleep(50);
  }
  await stop();
  throw new InputError(
    `Podman's API service did not start (${errors.trim().split('\n').at(-1) ?? 'no message'}): try 'podman info', or start an engine and set DOCKER_HOST`,
    69,
  );
}

/**
 * The engine to use, in this order: `given` or DOCKER_HOST, a usual socket that answers, Podman's own service.
 * @throws InputError (exit 69) where none is to be had.
 */
export async function findEngine(given: string | null, env: NodeJS.ProcessEnv): Promise<Engine> {
  const stop = async (): Promise<void> => {};
  const named = given ?? env['DOCKER_HOST'] ?? env['CONTAINER_HOST'] ?? null;
  if (named !== null) {
    const endpoint = named.replace(/^unix:\/\//, '');
    if (endpoint.startsWith('/') && !(await answers(endpoint))) {
      throw new InputError(
        `no container engine answers at ${named}: start it, or name another with --engine or DOCKER_HOST`,
        69,
      );
    }
    return { endpoint, started: false, stop };
  }
  for (const socketPath of usualSockets(env)) {
    if (existsSync(socketPath) && (await answers(socketPath)))
      return { endpoint: socketPath, started: false, stop };
  }
  const podman = await findOnPath('podman', env);
  if (podman === null) {
    throw new InputError(
      "no container engine: neither Docker nor Podman answers, and there is no 'podman' on PATH; install one (Debian: apt-get install podman runc) or set DOCKER_HOST",
      69,
    );
  }
  return await startPodman(podman, env);
}
