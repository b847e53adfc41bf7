// Shared mode: whether something that runs beside the tests writes rewards of its own.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '../../sandbox/port.ts';
import type { World } from '../world.ts';
import { makeVerifierFolder, peekVerifierFolder } from './verifier-folder.ts';

/** A reward of 0 that nobody but a forger touches. */
const decoy: Readonly<Record<string, string>> = { 'reward.txt': '0\n', 'reward.json': '{"reward": 0}\n' };

/**
 * Lays rewards of 0 while everything is frozen, lets it run for a while, and looks whether they are still what they
 * were. Leaves everything frozen again, and the folder as it then was.
 */
export async function isForging(
  { waits }: Pick<World, 'waits'>,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<boolean> {
  await makeVerifierFolder(sandbox, decoy);
  await sandbox.resume();
  await sleep(waits.forgeryMs, undefined, { signal });
  await sandbox.pause();
  const files = await peekVerifierFolder(sandbox);
  return Object.entries(decoy).some(([name, content]) => files.get(name)?.toString() !== content);
}
