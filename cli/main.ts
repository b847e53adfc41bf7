#!/usr/bin/env node
// passband: wires the commands, and turns whatever goes wrong into one line and an exit status.
import { Command, CommanderError } from 'commander';
import { enableCompileCache } from 'node:module';
import { exitCodes, fail, note } from './output.ts';
import { version } from './version.ts';

/** For what ends by itself: logs that are written, connections that are closed. */
const afterFailureMs = 5_000;

// What is imported from here on is compiled once a machine.
enableCompileCache();

const program = new Command('passband')
  .description('Grades terminal-agent tasks: verdicts from isolated offline sandboxes, bands from verdicts.')
  .version(version)
  .exitOverride()
  .configureOutput({
    outputError: (text) => {
      const line = text
        .replace(/^error: /, '')
        .trim()
        .replaceAll('\n', ' ');
      note(`passband: ${line} (--help shows what this command takes)`);
    },
  });

/** Each command's module with all that it needs is read when it is asked for: most take longer to read than to run. */
const commands = new Map<string, () => Promise<Command>>([
  ['check', async () => (await import('./check.ts')).checkCommand()],
  ['audit', async () => (await import('./audit.ts')).auditCommand()],
  ['images', async () => (await import('./images.ts')).imagesCommand()],
  ['sweep', async () => (await import('./sweep.ts')).sweepCommand()],
  ['trial', async () => (await import('./trial.ts')).trialCommand()],
  ['bands', async () => (await import('./bands.ts')).bandsCommand()],
  ['score', async () => (await import('./score.ts')).scoreCommand()],
  ['calibrate', async () => (await import('./calibrate.ts')).calibrateCommand()],
  ['known-rate', async () => (await import('./known-rate-serve.ts')).knownRateCommand()],
  ['worker', async () => (await import('./worker.ts')).workerCommand()],
  ['doctor', async () => (await import('./doctor.ts')).doctorCommand()],
  ['demo', async () => (await import('./demo.ts')).demoCommand()],
]);

const asked = process.argv[2] ?? '';
const versionFlags: readonly string[] = ['-V', '--version'];

/** Whatever is no command's name is for a person who looks for one. */
function toLoad(): Iterable<() => Promise<Command>> {
  const one = commands.get(asked);
  if (one !== undefined) return [one];
  return versionFlags.includes(asked) ? [] : commands.values();
}

for (const load of toLoad()) program.addCommand(inherit(await load()));

/** Subcommands do not take over exitOverride by themselves when they are added whole. */
function inherit(command: Command): Command {
  command.copyInheritedSettings(program);
  for (const sub of command.commands) inherit(sub);
  return command;
}

// A reader that goes away (`passband … | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.done);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.badInput;
  else fail(error);
  // Whatever a failure has left open must not keep a process that has nothing more to do.
  setTimeout(() => process.exit(), afterFailureMs).unref();
}
