#!/usr/bin/env node
// passband: wires the commands, and turns whatever goes wrong into one line and an exit status.
import { Command, CommanderError } from 'commander';
import { exitCodes, fail, note } from './output.ts';
import { auditCommand } from './audit.ts';
import { bandsCommand } from './bands.ts';
import { calibrateCommand } from './calibrate.ts';
import { checkCommand } from './check.ts';
import { demoCommand } from './demo.ts';
import { doctorCommand } from './doctor.ts';
import { imagesCommand } from './images.ts';
import { knownRateCommand } from './known-rate-serve.ts';
import { sweepCommand } from './sweep.ts';
import { trialCommand } from './trial.ts';
import { version } from './version.ts';
import { workerCommand } from './worker.ts';

/** For what ends by itself: logs that are written, connections that are closed. */
const afterFailureMs = 5_000;

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

for (const command of [
  checkCommand,
  auditCommand,
  imagesCommand,
  sweepCommand,
  trialCommand,
  bandsCommand,
  calibrateCommand,
  knownRateCommand,
  workerCommand,
  doctorCommand,
  demoCommand,
]) {
  program.addCommand(inherit(command()));
}

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
