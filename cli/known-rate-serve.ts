// passband known-rate: serves known-rate models by a URL, for workers that are not this machine's.
import { Command, InvalidArgumentError } from 'commander';
import { once } from 'node:events';
import { InputError } from '../domain/errors.ts';
import { startKnownRateServer, type KnownRateServer } from '../instruments/known-rate/server.ts';
import { readKnownTasks } from '../instruments/known-tasks.ts';
import { defaultSeed, seedOf } from './calibrate.ts';
import { onInterrupt } from './interrupt.ts';
import { collect } from './numbers.ts';
import { note, printJson, printLine } from './output.ts';

interface ServeFlags {
  readonly tasks: string;
  readonly model: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly seed: number;
  readonly thinking?: boolean;
  readonly json?: boolean;
}

function portOf(value: string): number {
  const port = Number(value);
  if (!/^\d+$/.test(value) || port > 65_535)
    throw new InvalidArgumentError('it takes a port from 0 to 65535.');
  return port;
}

/** @throws InputError (exit 69) where the address cannot be listened on. */
async function listen(flags: ServeFlags): Promise<KnownRateServer> {
  const tasks = await readKnownTasks(flags.tasks);
  try {
    return await startKnownRateServer({ ...flags, tasks, models: flags.model });
  } catch (error) {
    if (!(error instanceof Error) || (error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new InputError(
      `known-rate models cannot be served at ${flags.host}:${flags.port} (${error.message}): name a free port or an address of this machine with --port and --host`,
      69,
    );
  }
}

export function knownRateCommand(): Command {
  return new Command('known-rate')
    .description('serve known-rate models until SIGTERM, for sweeps whose workers are elsewhere')
    .requiredOption('--tasks <dir>', 'the folder of task folders that the sweep grades, or one task folder')
    .requiredOption(
      '--model <name>',
      'known-rate-P: means to solve each task with probability P, 0 to 1; may be repeated',
      collect,
    )
    .option('--host <address>', 'the address to listen on: one that the workers reach', '127.0.0.1')
    .option('--port <n>', 'the port; 0 for any that is free', portOf, 8901)
    .option('--seed <n>', 'the same that the sweep is started with', seedOf, defaultSeed)
    .option(
      '--thinking',
      'each reply begins with thinking, which the template leaves out of earlier turns, as those of reasoning models do',
    )
    .option('--json', 'print one JSON document {url, models, seed} when it listens')
    .addHelpText(
      'after',
      [
        '',
        'It knows the solutions of the tasks: let nothing but the workers reach it.',
        'Exits 0 when it was told to stop, 2 on bad input, 69 where the address cannot be listened on.',
        '',
        'Example:',
        '  passband known-rate --tasks ./tasks --model known-rate-0.5 --host 10.0.0.7',
        '  passband sweep start --tasks ./tasks --model known-rate-0.5=http://10.0.0.7:8901/v1 --temporal HOST:7233',
      ].join('\n'),
    )
    .action(async (flags: ServeFlags) => {
      const interrupt = onInterrupt();
      const server = await listen(flags);
      try {
        if (flags.json === true) printJson({ url: server.url, models: flags.model, seed: flags.seed });
        else printLine(server.url);
        note(`serving ${flags.model.join(', ')} at ${server.url}, seed ${flags.seed}; Ctrl-C ends it`);
        if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort');
      } finally {
        interrupt.off();
        await server.close();
      }
    });
}
