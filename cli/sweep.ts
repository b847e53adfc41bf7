// passband sweep: start, list, status, watch, cancel.
import { Command } from 'commander';
import {
  sweepCancelCommand,
  sweepListCommand,
  sweepStatusCommand,
  sweepWatchCommand,
} from './sweep-control.ts';
import { sweepStartCommand } from './sweep-start.ts';

export function sweepCommand(): Command {
  return new Command('sweep')
    .description('grade a task set: tasks × models × scaffolds × attempts')
    .addCommand(sweepStartCommand())
    .addCommand(sweepListCommand())
    .addCommand(sweepStatusCommand())
    .addCommand(sweepWatchCommand())
    .addCommand(sweepCancelCommand());
}
