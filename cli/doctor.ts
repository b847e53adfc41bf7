// passband doctor: what this machine has and lacks, line by line, with the way to get it.
import { Command } from 'commander';
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import path from 'node:path';
import { findEngine } from '../embedded/engine.ts';
import { findOnPath } from '../embedded/programs.ts';
import { findTemporalBinary } from '../embedded/temporal-binary.ts';
import { hasBase } from '../sandbox/engine/base-images.ts';
import { parseEndpoint } from '../sandbox/engine/endpoint.ts';
import { openDriver } from '../worker/drivers.ts';
import { describeError, exitCodes, printJson, printLine } from './output.ts';
import { storeUrl, useStore, withStore, type StoreOption } from './store-option.ts';
import { connectTemporal } from './session.ts';

interface Finding {
  readonly part: string;
  /** `lacks`: grading does not work without it. `note`: it does. */
  readonly state: 'has' | 'lacks' | 'note';
  readonly what: string;
  /** How to get it; null where it is there. */
  readonly mend: string | null;
}

const has = (part: string, what: string): Finding => ({ part, state: 'has', what, mend: null });
const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
/** Images, results and the engine's layers of a small sweep. */
const enoughDiskBytes = 5 * 1024 ** 3;
const enoughMemoryBytes = 4 * 1024 ** 3;

async function attempt(part: string, mend: string | null, look: () => Promise<string>): Promise<Finding> {
  try {
    return has(part, await look());
  } catch (error) {
    return { part, state: 'lacks', what: describeError(error).line, mend };
  }
}

function machine(): Finding {
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

async function engineFindings(given: string | undefined): Promise<Finding[]> {
  try {
    const engine = await findEngine(given ?? null, process.env);
    try {
      const driver = openDriver({ sandbox: 'engine', engine: engine.endpoint }, process.env);
      const { version } = await driver.check();
      await driver.close();
      const found = [
        has(
          'engine',
          `${version}${engine.started ? ', started when it is needed' : ` at ${engine.endpoint}`}`,
        ),
      ];
      const base = await hasBase(parseEndpoint(engine.endpoint), 'debian:12');
      const debootstrap = await findOnPath('debootstrap', process.env);
      if (base) found.push(has('base image', 'debian:12 is here'));
      else {
        found.push({
          part: 'base image',
          state: 'note',
          what: `debian:12 is not here: it is pulled, or made by debootstrap (${debootstrap ?? 'which is not here either'})`,
          mend:
            debootstrap === null
              ? 'apt-get install debootstrap, or passband images base debian:12=DIR|TAR'
              : 'passband images base debian:12=debootstrap',
        });
      }
      return found;
    } finally {
      await engine.stop();
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

/** The deepest folder of a path that is there: where a store will be made. */
function nearestFolder(file: string): string {
  return existsSync(file) ? file : nearestFolder(path.dirname(file));
}

async function disk(store: string): Promise<Finding> {
  const dir = store.includes('://') ? process.cwd() : nearestFolder(path.resolve(store));
  const { bavail, bsize } = await statfs(dir);
  const what = `${gib(bavail * bsize)} free at ${dir}`;
  return bavail * bsize >= enoughDiskBytes
    ? has('disk', what)
    : { part: 'disk', state: 'note', what, mend: `make room: ${gib(enoughDiskBytes)} is little enough` };
}

type DoctorFlags = StoreOption & {
  readonly engine?: string;
  readonly temporal?: string;
  readonly namespace: string;
  readonly json?: boolean;
};

async function examine(flags: DoctorFlags): Promise<Finding[]> {
  const url = storeUrl(flags);
  const temporal = flags.temporal;
  return [
    has('node', process.version),
    machine(),
    await disk(url),
    ...(await engineFindings(flags.engine)),
    temporal === undefined
      ? await attempt(
          'temporal',
          'put `temporal` on PATH, set PASSBAND_TEMPORAL_BINARY, or give python3 with pip',
          async () => await findTemporalBinary({ given: null, env: process.env, note: () => {} }),
        )
      : await attempt('temporal', 'start it, or leave --temporal out', async () => {
          const client = await connectTemporal(temporal, flags.namespace);
          await client.connection.close();
          return `answers at ${temporal}`;
        }),
    await attempt(
      'store',
      'give a folder that can be written to, or an S3 bucket and its credentials',
      async () =>
        await useStore({ store: url }, async (store) => {
          await store.check();
          return `${store.url} can be written to`;
        }),
    ),
  ];
}

export function doctorCommand(): Command {
  return withStore(new Command('doctor'))
    .description('what this machine has and lacks, with the way to get it')
    .option('--engine <endpoint>', 'the container engine (default: found)')
    .option('--temporal <address>', 'HOST:PORT of a Temporal server (default: an embedded one)')
    .option('--namespace <name>', 'its namespace', 'default')
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExits 0 where nothing is lacking, else 69.')
    .action(async (flags: DoctorFlags) => {
      const findings = await examine(flags);
      if (flags.json === true) printJson({ findings });
      else
        for (const { part, state, what, mend } of findings)
          printLine(
            `${state.padEnd(5)} ${part}: ${what}${mend === null ? '' : `\n      to mend it: ${mend}`}`,
          );
      if (findings.some(({ state }) => state === 'lacks')) process.exitCode = exitCodes.unavailable;
    });
}
