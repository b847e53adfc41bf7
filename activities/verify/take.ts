// Whose a sandbox is, and which turn in it: that of the try which asks first, on whichever worker it runs.
import { randomUUID } from 'node:crypto';
import type { Sandbox } from '../../sandbox/port.ts';

/** Ids of its commands begin so. */
export const takenId = 'taken';

/** There is no such program, in no image. */
const nowhere = '/opt/passband/taken-by/';
const notFound = 127;
const timeoutMs = 10_000;

/**
 * True for the first who asks, false for everybody after. A command is started once under its id, and whoever asks for
 * it later is told how that one ended: of a program that is not there, by its name. Where none can be started at all,
 * there is nothing to be shared. `what`: of the things that can be taken in one sandbox.
 */
export async function take(sandbox: Sandbox, what: string, signal: AbortSignal): Promise<boolean> {
  const program = `${nowhere}${randomUUID()}`;
  const id = `${takenId}-${what}`;
  const { exitCode, stderr } = await sandbox.run({ id, argv: [program], cwd: '/', timeoutMs }, signal);
  return exitCode !== notFound || Buffer.from(stderr).toString('utf8').includes(program);
}

/** The first turn that nobody has taken before, from 1. Whoever took one below it has lost it. */
export async function takeTurn(sandbox: Sandbox, what: string, signal: AbortSignal): Promise<number> {
  let turn = 1;
  while (!(await take(sandbox, `${what}-${turn}`, signal))) turn += 1;
  return turn;
}
