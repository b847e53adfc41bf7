// passband audit DIR: the gate alone. The funnel (read, built, oracle passes, nop fails, kept), with a reason for each task lost.
import { Command, Option } from 'commander';
import { GateRecordSchema, type GateRecord } from '../domain/gate.ts';
import type { RejectionReason } from '../domain/failures.ts';
import type { Plan, Rejection } from '../domain/sweep.ts';
import { readGates } from '../store/verdicts.ts';
import { positiveInt } from './numbers.ts';
import { exitCodes, formatTable, note, printJson, printLine } from './output.ts';
import { storeUrl, useStore, withStore, type StoreOption } from './store-option.ts';
import { gateRejection } from './summary.ts';
import { withSandbox, type SandboxOption } from './sandbox-option.ts';
import { interruptionOf, requestOf, stoppedDocument, withServers, type ServerFlags } from './sweep-start.ts';
import { runSweep } from './sweep-run.ts';

export interface Funnel {
  readonly read: number;
  readonly built: number;
  readonly oraclePasses: number;
  readonly nopFails: number;
  readonly kept: number;
  readonly lost: readonly Rejection[];
  /** Tasks whose gate could not be formed: run the audit again. */
  readonly unformed: readonly string[];
}

/** How far a task rejected for a reason came: it did not get past the stage named. */
const lostAt: Readonly<Record<RejectionReason, 'read' | 'built' | 'oracle' | 'nop'>> = {
  invalid: 'read',
  duplicate: 'read',
  unsupported: 'read',
  'build-fails': 'built',
  'no-oracle': 'oracle',
  'oracle-fails': 'oracle',
  'unsolvable-offline': 'oracle',
  'ambiguous-reward': 'oracle',
  'nop-passes': 'nop',
};

/** The funnel of a plan whose gates have been run. */
export function funnelOf(plan: Plan, gates: ReadonlyMap<string, GateRecord>): Funnel {
  const lost = [...plan.rejected];
  const unformed: string[] = [];
  const counts = { read: 0, built: 0, oracle: 0, nop: 0 };
  for (const task of plan.tasks) {
    const gate = gates.get(task.id);
    if (gate === undefined) {
      counts.read += 1;
      unformed.push(task.id);
      continue;
    }
    const rejection = gateRejection(task.id, gate);
    if (rejection !== null) lost.push(rejection);
    const stage = rejection === null ? null : lostAt[rejection.reason];
    if (stage !== 'read') counts.read += 1;
    if (stage !== 'read' && stage !== 'built') counts.built += 1;
    if (stage === 'nop' || (stage === null && gate.outcome === 'kept')) counts.oracle += 1;
    if (stage === null) counts.nop += 1;
  }
  return {
    read: counts.read,
    built: counts.built,
    oraclePasses: counts.oracle,
    nopFails: counts.nop,
    kept: counts.nop,
    lost,
    unformed,
  };
}

export function formatFunnel(funnel: Funnel): string {
  const table = formatTable(
    ['stage', 'tasks'],
    [
      ['read', funnel.read],
      ['built', funnel.built],
      ['oracle passes', funnel.oraclePasses],
      ['nop fails', funnel.nopFails],
      ['kept', funnel.kept],
    ],
  );
  return [
    table,
    ...funnel.lost.map((task) => `lost: ${task.task}: ${task.reason}: ${task.message}`),
    ...funnel.unformed.map((task) => `not audited: ${task}: its gate could not be formed; run this again`),
  ].join('\n');
}

type AuditFlags = StoreOption &
  SandboxOption &
  ServerFlags & {
    readonly concurrency?: number;
    readonly strict?: boolean;
    readonly offlineBuild?: boolean;
    readonly unaudited?: boolean;
    readonly rewardKey?: string;
    readonly network?: string;
    readonly json?: boolean;
  };

export function auditCommand(): Command {
  const command = new Command('audit')
    .description('run the gate alone: each task’s own solution must pass, and doing nothing must fail')
    .argument('<dir>', 'a folder of task folders, or one task folder')
    .option('--concurrency <n>', 'gates at once (default: 4)', positiveInt)
    .option('--strict', 'unknown keys in a task are errors')
    .option('--offline-build', 'no network for RUN at image builds')
    .option('--unaudited', 'a task without a solution is kept, unaudited')
    .option('--reward-key <key>', 'the reward among several keys of reward.json')
    .addOption(
      new Option('--network <mode>', 'deny (default), or what a task declares').choices([
        'deny',
        'as-declared',
      ]),
    )
    .option('--json', 'print one JSON document');
  return withServers(withSandbox(withStore(command)))
    .addHelpText(
      'after',
      '\nExits 0 where every task is kept, 3 where one is lost or could not be audited, 2 on bad input, 69 where a server, store, engine or cluster does not answer, 78 on a bad file of the Kubernetes driver, 130 on Ctrl-C.',
    )
    .action(async (dir: string, flags: AuditFlags) => {
      // A plan without models: nothing but gates.
      const request = {
        ...(await requestOf(undefined, { ...flags, tasks: dir, model: ['none'], scaffold: ['oracle'] })),
        models: [],
      };
      const url = storeUrl(flags);
      await useStore({ store: url }, async (store) => {
        const end = await runSweep(request, store, {
          temporal: flags.temporal ?? null,
          namespace: flags.namespace,
          engine: flags.engine ?? null,
          storeUrl: url,
          seed: 0,
          detach: false,
          splits: null,
          gatesOnly: true,
          env: process.env,
        });
        const { stopped } = end;
        if (stopped !== null && flags.json !== true) throw stopped;
        const funnel = funnelOf(end.plan.plan, await readGates(store, end.plan.plan, GateRecordSchema));
        if (flags.json === true) {
          printJson({ audit: end.plan.plan.sweep, ...funnel, stopped: stoppedDocument(stopped) });
        } else printLine(formatFunnel(funnel));
        if (stopped !== null) throw stopped;
        if (end.interrupted) note(interruptionOf(end.plan.plan.sweep, flags));
        if (end.interrupted) process.exitCode = exitCodes.interrupted;
        else if (funnel.lost.length > 0 || funnel.unformed.length > 0) process.exitCode = exitCodes.uncovered;
      });
    });
}
