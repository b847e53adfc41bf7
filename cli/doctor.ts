// passband doctor: what this machine, or a cluster, has and lacks, line by line, with the way to get it.
import { Command } from 'commander';
import { InputError } from '../domain/errors.ts';
import { examineCluster } from '../worker/drivers.ts';
import { disk, engine, machine, python, temporalProgram } from './doctor-machine.ts';
import { attempt, has, type Finding } from './finding.ts';
import { onInterrupt } from './interrupt.ts';
import { exitCodes, printJson, printLine } from './output.ts';
import { checkSandbox, kubernetesFile, withSandbox, type SandboxOption } from './sandbox-option.ts';
import { connectTemporal } from './session.ts';
import { storeUrl, useStore, withStore, type StoreOption } from './store-option.ts';

type DoctorFlags = StoreOption &
  SandboxOption & {
    readonly engine?: string;
    readonly temporal?: string;
    readonly namespace: string;
    readonly canary?: boolean;
    readonly json?: boolean;
  };

async function temporal({ temporal: address, namespace }: DoctorFlags): Promise<Finding[]> {
  if (address === undefined) return [await temporalProgram(process.env), await python(process.env)];
  return [
    await attempt('temporal', 'start it, or leave --temporal out', async () => {
      const client = await connectTemporal(address, namespace);
      await client.connection.close();
      return `answers at ${address}`;
    }),
  ];
}

/** What trials run on. */
async function sandboxes(flags: DoctorFlags): Promise<readonly Finding[]> {
  if (flags.sandbox !== 'kubernetes') return await engine(flags.engine, process.env);
  const file = kubernetesFile(flags.kubernetes, process.env);
  const interrupt = onInterrupt();
  try {
    const canary = flags.canary === true ? interrupt.signal : null;
    return await examineCluster(file, { env: process.env, canary });
  } catch (error) {
    if (interrupt.signal.aborted)
      throw new InputError('interrupted: its pods are removed', exitCodes.interrupted);
    throw error;
  } finally {
    interrupt.off();
  }
}

async function examine(flags: DoctorFlags): Promise<Finding[]> {
  const url = storeUrl(flags);
  return [
    has('node', process.version),
    machine(),
    await disk(url),
    ...(await sandboxes(flags)),
    ...(await temporal(flags)),
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
  return withSandbox(withStore(new Command('doctor')))
    .description('what this machine, or a cluster, has and lacks, with the way to get it')
    .option('--engine <endpoint>', 'the container engine (default: found)')
    .option('--temporal <address>', 'HOST:PORT of a Temporal server (default: an embedded one)')
    .option('--namespace <name>', 'its namespace', 'default')
    .option(
      '--canary',
      'with --sandbox kubernetes: also make pods for a moment, one on each node, and say what is seen from inside (policy, pids limit, files, user namespaces, OOM)',
    )
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExits 0 where nothing is lacking, else 69; 2 on bad input.')
    .action(async (flags: DoctorFlags) => {
      checkSandbox(flags);
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
