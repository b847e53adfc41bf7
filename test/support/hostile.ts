// Hostile solutions as agents: what each does and may come to, and a task folder for each.
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import { endings, failedDetails, results } from '../../domain/failures.ts';
import type { Verdict } from '../../domain/verdict.ts';
import type { KnownRateServer } from '../../instruments/known-rate/server.ts';
import { root } from './passband.ts';
import { serveSolutions } from './scripted-agents.ts';

const fixture = path.join(root, 'test/fixtures/hostile');

const HostileSchema = z.strictObject({
  name: z.string(),
  about: z.string(),
  endings: z.array(z.enum(endings)),
  results: z.array(z.enum(results)),
  /** Whether it would win if nothing were withheld from the verifier. */
  winsUnfiltered: z.boolean(),
  /** What it may come to in shared mode; null where shared mode does not stop it. */
  sharedResults: z.array(z.enum(results)).nullable(),
  details: z.array(z.enum(failedDetails)).optional(),
});
export type Hostile = z.infer<typeof HostileSchema>;

export async function readHostile(): Promise<Hostile[]> {
  return z.array(HostileSchema).parse(JSON.parse(await readFile(path.join(fixture, 'index.json'), 'utf8')));
}

/** Room for a slow machine: what an attack does must be its own end, and not that of its clock. */
const slower: readonly (readonly [string, string])[] = [
  ['timeout_sec = 10.0', 'timeout_sec = 40.0'],
  ['timeout_sec = 8.0', 'timeout_sec = 20.0'],
];

/** Writes a copy of the fixture's task under its own name, and answers its folder. */
export async function writeHostileTask(
  dir: string,
  name: string,
  mode: 'separate' | 'shared',
): Promise<void> {
  const target = path.join(dir, name);
  await cp(path.join(fixture, 'task'), target, { recursive: true });
  const file = path.join(target, 'task.toml');
  let toml = (await readFile(file, 'utf8')).replace('"hostile/total"', `"hostile/${name}"`);
  for (const [from, to] of slower) toml = toml.replace(from, to);
  if (mode === 'shared') toml = toml.replace('[verifier]', '[verifier]\nenvironment_mode = "shared"');
  await writeFile(file, toml);
}

/** The verdict that an attack may come to under the separate verifier: one of its own, and no win. */
export function expectNoWin(attack: Hostile, verdict: Verdict): void {
  expect(verdict.environmentMode).toBe('separate');
  expect(attack.results).toContain(verdict.result);
  expect(attack.endings).toContain(verdict.ending);
  if (attack.details !== undefined) expect(attack.details).toContain(verdict.detail);
  expect(verdict.reward).not.toBe(1);
}

/** The attack that a task's folder is named after. */
export const attackOf = (task: string): string => task.replace(/^hostile\//, '').replace(/^shared-/, '');

/** A server whose model types each task's attack in the place of its solution. */
export const serveAttacks = (tasksDir: string, model: string): Promise<KnownRateServer> =>
  serveSolutions(tasksDir, model, (task) =>
    readFile(path.join(fixture, 'solutions', attackOf(task), 'solve.sh')),
  );
