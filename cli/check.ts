// passband check DIR: reads and lints a task set as a sweep would, and changes nothing.
import { Command, Option } from 'commander';
import type { Rejection } from '../domain/sweep.ts';
import { checkTasks, type CheckReport } from '../tasks/check.ts';
import { lacksOf, type DriverName } from '../worker/drivers.ts';
import { exitCodes, printJson, printLine } from './output.ts';
import { sandboxOption } from './sandbox-option.ts';
import { withStore } from './store-option.ts';

interface CheckOptions {
  readonly sandbox?: DriverName;
  readonly strict?: boolean;
  readonly network: 'deny' | 'as-declared';
  readonly json?: boolean;
}

/** `file:line key`, as far as each is known. */
export function placeOf(at: Pick<Rejection, 'file' | 'key' | 'line'>): string {
  const place = `${at.file ?? ''}${at.line === null ? '' : `:${at.line}`}`;
  return [place, at.key ?? ''].filter((part) => part !== '').join(' ');
}

export function formatCheck(report: CheckReport): string {
  const lines = report.messages.map(
    (message) => `${message.severity}: ${message.task}: ${placeOf(message)}: ${message.reason}`,
  );
  for (const rejection of report.rejected) {
    lines.push(
      `rejected: ${rejection.task}: ${rejection.reason}: ${placeOf(rejection)}: ${rejection.message}`,
    );
  }
  lines.push(
    `${report.planned.length} planned, ${report.warned.length} warned, ${report.rejected.length} rejected`,
  );
  return lines.join('\n');
}

export function checkCommand(): Command {
  return withStore(new Command('check'))
    .description('read and lint a folder of tasks: planned, warned, rejected, each with file, key and line')
    .argument('<dir>', 'a folder of task folders, or one task folder')
    .option('--strict', 'unknown keys and tables are errors')
    .addOption(sandboxOption())
    .addOption(
      new Option('--network <mode>', 'what the sweep would give: deny, or what a task declares')
        .choices(['deny', 'as-declared'])
        .default('deny'),
    )
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExits 0 where every folder is planned, 3 where one is rejected, 2 on bad input.')
    .action(async (dir: string, options: CheckOptions) => {
      const lacks = lacksOf(options.sandbox ?? 'engine');
      const report = await checkTasks(dir, {
        strict: options.strict ?? false,
        env: process.env,
        unsupported: (task) => lacks(task, options.network),
      });
      if (options.json === true) printJson(report);
      else printLine(formatCheck(report));
      if (report.rejected.length > 0) process.exitCode = exitCodes.uncovered;
    });
}
