// The environment of a service: its env_files in order, then its own table.
import { posix } from 'node:path';
import type { Findings } from '../findings.ts';
import type { ComposeFile } from './compose-file.ts';
import type { KeyPath } from './document.ts';
import { readEnvFile } from './env-file.ts';
import { interpolate } from './interpolation.ts';
import type { ServiceTable } from './schema.ts';
import { refuseVariable } from './tables.ts';

/** A path of the file inside the task; null where it leaves it. */
export function insideTask(path: string): string | null {
  const joined = posix.normalize(posix.join('environment', path)).replace(/\/$/, '');
  return path.startsWith('/') || path.startsWith('~') || joined === '..' || joined.startsWith('../')
    ? null
    : joined;
}

export async function environmentOf(
  file: ComposeFile,
  at: KeyPath,
  table: ServiceTable,
  findings: Findings,
): Promise<Record<string, string>> {
  const env = new Map<string, string>();
  for (const [index, entry] of (table.env_file ?? []).entries()) {
    const values = await envFileAt(file, [...at, 'env_file', index], entry, findings);
    for (const [name, text] of values) env.set(name, text);
  }
  for (const [name, value] of given(file, [...at, 'environment'], table.environment)) env.set(name, value);
  return Object.fromEntries(env);
}

/** A table of values, those without one from the file's variables. */
export function given(
  file: ComposeFile,
  at: KeyPath,
  table: Readonly<Record<string, string | null>>,
): [string, string][] {
  return Object.entries(table).flatMap(([name, value]): [string, string][] => {
    const found = value ?? file.variables.get(name);
    if (found !== undefined) return [[name, found]];
    refuseVariable(file, at, name);
    return [];
  });
}

async function envFileAt(
  file: ComposeFile,
  at: KeyPath,
  entry: NonNullable<ServiceTable['env_file']>[number],
  findings: Findings,
): Promise<[string, string][]> {
  const path = insideTask(entry.path);
  if (path === null) file.refuse(at, `env_file ${entry.path}`, 'it is not in the task');
  if (path === null || (!entry.required && !file.layout.hasFile(path))) return [];
  const text = await file.layout.readText(path, findings);
  if (text === null) return [];
  const read = readEnvFile(text);
  if (!read.ok) {
    findings.error({ file: path, line: read.line }, 'is no line of a file of variables: NAME=value');
    return [];
  }
  return [...read.values].map(([name, { text: value, literal }]) => {
    if (literal || entry.format === 'raw') return [name, value];
    const filled = interpolate(value, file.variables);
    for (const variable of filled.missing) refuseVariable(file, at, variable);
    if (filled.fault !== null) file.fail(at, filled.fault);
    return [name, filled.text];
  });
}
