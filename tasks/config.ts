// task.toml: bytes to typed tables, each fault and each unknown key with its line.
import type { Findings, Place } from './findings.ts';
import { TaskTomlSchema, type EnvironmentTable, type TaskToml } from './schema.ts';
import { decodeText } from './text.ts';
import { readToml, type KeyPath, type TomlDocument } from './toml.ts';
import { splitUnknownKeys } from './unknown-keys.ts';

export interface TaskConfig {
  readonly toml: TaskToml;
  /** The place of a key in task.toml. */
  readonly place: (...path: KeyPath) => Place;
}

/** Null where the file cannot be read as tables at all, or a value is wrong: the findings say which. */
export function readConfig(bytes: Uint8Array, file: string, findings: Findings): TaskConfig | null {
  const text = decodeText(bytes);
  if (text === null) {
    findings.error({ file }, 'is not UTF-8 text');
    return null;
  }
  const reading = readToml(text);
  if (!reading.ok) {
    findings.error({ file, line: reading.line }, `is not valid TOML: ${reading.message}`);
    return null;
  }
  const place = placeIn(file, reading.document);
  const { known, unknown } = splitUnknownKeys(reading.document.value);
  const placed = unknown.map((key) => ({ at: place(...key.path), reason: key.reason }));
  for (const { at, reason } of placed.sort((a, b) => (a.at.line ?? 0) - (b.at.line ?? 0))) {
    findings.unknown(at, reason);
  }
  const parsed = TaskTomlSchema.safeParse(known);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const path = issue.path.filter((part) => typeof part !== 'symbol');
      findings.error(place(...path), `${issue.message}${shown(known, path)}`);
    }
    return null;
  }
  checkRules(parsed.data, place, findings);
  return { toml: parsed.data, place };
}

/** The name that a task.toml states, read leniently: so that a rejected task can be named. */
export function statedName(bytes: Uint8Array): string | null {
  const text = decodeText(bytes);
  const reading = text === null ? null : readToml(text);
  const task = reading?.ok === true ? reading.document.value['task'] : undefined;
  const name = typeof task === 'object' && task !== null && 'name' in task ? task.name : undefined;
  return typeof name === 'string' && name !== '' ? name : null;
}

function placeIn(file: string, document: TomlDocument): TaskConfig['place'] {
  return (...path) => ({ file, key: path.length === 0 ? null : path.join('.'), line: document.lineOf(path) });
}

function shown(value: unknown, path: KeyPath): string {
  let at = value;
  for (const part of path) {
    if (typeof at !== 'object' || at === null) return '';
    at = (at as Record<string | number, unknown>)[part];
  }
  if (typeof at === 'number') return ` (it is ${at})`;
  return typeof at === 'string' || typeof at === 'boolean'
    ? ` (it is ${JSON.stringify(at).slice(0, 60)})`
    : '';
}

function checkRules(toml: TaskToml, place: TaskConfig['place'], findings: Findings): void {
  checkEnvironment(toml.environment, (...path) => place('environment', ...path), findings);
  checkNetwork(toml.agent, (...path) => place('agent', ...path), findings);
  const verifiers = [
    { table: toml.verifier, at: ['verifier'] as KeyPath },
    ...toml.steps.map((step, index) => ({
      table: step.verifier,
      at: ['steps', index, 'verifier'] as KeyPath,
    })),
  ];
  toml.steps.forEach((step, index) => {
    checkNetwork(step.agent, (...path) => place('steps', index, 'agent', ...path), findings);
  });
  for (const { table, at } of verifiers) {
    checkNetwork(table, (...path) => place(...at, ...path), findings);
    if (table.environment === undefined) continue;
    checkEnvironment(table.environment, (...path) => place(...at, 'environment', ...path), findings);
    if (table.environment_mode === 'shared') {
      findings.error(
        place(...at, 'environment_mode'),
        'is "shared", but a verifier environment of its own is separate: take one of the two out',
      );
    }
  }
}

function checkEnvironment(table: EnvironmentTable, place: TaskConfig['place'], findings: Findings): void {
  for (const [old, current] of [
    ['memory', 'memory_mb'],
    ['storage', 'storage_mb'],
  ] as const) {
    if (table[old] !== undefined && table[current] !== undefined) {
      findings.error(place(old), `stands beside ${current}: keep one of the two`);
    }
  }
  if (table.allow_internet !== undefined && table.network_mode !== undefined) {
    findings.warn(place('allow_internet'), 'has no effect: network_mode stands beside it and wins');
  }
  checkNetwork(table, place, findings);
}

function checkNetwork(
  table: Pick<EnvironmentTable, 'network_mode' | 'allowed_hosts'>,
  place: TaskConfig['place'],
  findings: Findings,
): void {
  if (table.allowed_hosts !== undefined && table.network_mode !== 'allowlist') {
    findings.error(place('allowed_hosts'), 'is only allowed with network_mode = "allowlist"');
  }
}
