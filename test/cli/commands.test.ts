// What holds for every command: --store, --json, a description.
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { auditCommand } from '../../cli/audit.ts';
import { bandsCommand } from '../../cli/bands.ts';
import { calibrateCommand } from '../../cli/calibrate.ts';
import { checkCommand } from '../../cli/check.ts';
import { demoCommand } from '../../cli/demo.ts';
import { doctorCommand } from '../../cli/doctor.ts';
import { imagesCommand } from '../../cli/images.ts';
import { knownRateCommand } from '../../cli/known-rate-serve.ts';
import { scoreCommand } from '../../cli/score.ts';
import { sweepCommand } from '../../cli/sweep.ts';
import { trialCommand } from '../../cli/trial.ts';
import { workerCommand } from '../../cli/worker.ts';

function leaves(command: Command, path = ''): (readonly [string, Command])[] {
  const name = `${path} ${command.name()}`.trim();
  return command.commands.length === 0
    ? [[name, command]]
    : command.commands.flatMap((sub) => leaves(sub, name));
}

const all = [
  ...[auditCommand, bandsCommand, calibrateCommand, checkCommand, demoCommand],
  ...[doctorCommand, imagesCommand, knownRateCommand, scoreCommand],
  ...[sweepCommand, trialCommand, workerCommand],
].flatMap((make) => leaves(make()));

/** It serves, and neither reads nor writes results. */
const withoutStore = 'known-rate';

it.each(all)('%s takes --store and --json, and says what it does', (name, command) => {
  const flags = command.options.map((option) => option.long);
  expect(flags.includes('--store')).toBe(name !== withoutStore);
  expect(flags).toContain('--json');
  expect(command.description()).not.toBe('');
});
