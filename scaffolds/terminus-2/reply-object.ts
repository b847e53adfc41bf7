// Validates the object of a reply: its keys, its commands, and what only deserves a warning.
import { z } from 'zod';
import {
  checkDuration,
  checkLength,
  replyOf,
  usualDuration,
  warnUnended,
  type DurationRule,
  type ParsedReply,
  type ReplyCommand,
} from './commands.ts';

export const replyKeys = ['analysis', 'plan', 'commands'] as const;
const commandKeys = new Set(['keystrokes', 'duration']);

const ObjectSchema = z.record(z.string(), z.unknown());

/** Truth as Python sees it: empty lists and objects are false. */
function isTruthy(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function readComplete(value: unknown, warnings: string[]): boolean {
  if (typeof value === 'string') return ['true', '1', 'yes'].includes(value.toLowerCase());
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') warnings.push('"task_complete" should be true or false');
  return isTruthy(value);
}

/** Words for the trajectory alone: what is a list or an object stands in the raw reply. */
const asText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';

/** Seconds, or an error. A missing duration, or one that is no number at all, is the default with a warning. */
function readDuration(
  command: Readonly<Record<string, unknown>>,
  where: string,
  rule: DurationRule,
  warnings: string[],
): number | { readonly error: string } {
  if (!Object.hasOwn(command, 'duration')) {
    return usualDuration(`${where} has no "duration"`, warnings);
  }
  const value = command['duration'];
  if (typeof value !== 'number' && typeof value !== 'boolean') {
    return usualDuration(`${where}: "duration" is no number`, warnings);
  }
  return checkDuration(value, where, rule);
}

function readCommands(
  list: readonly unknown[],
  rule: DurationRule,
  warnings: string[],
): readonly ReplyCommand[] | { readonly error: string } {
  const commands: ReplyCommand[] = [];
  for (const [index, item] of list.entries()) {
    const where = `command ${index + 1}`;
    const parsed = ObjectSchema.safeParse(item);
    if (!parsed.success) return { error: `${where} must be an object` };
    const command = parsed.data;
    if (!Object.hasOwn(command, 'keystrokes')) return { error: `${where} lacks "keystrokes"` };
    const keystrokes = command['keystrokes'];
    if (typeof keystrokes !== 'string') return { error: `${where}: "keystrokes" must be a string` };
    const durationSec = readDuration(command, where, rule, warnings);
    if (typeof durationSec !== 'number') return durationSec;
    const unknown = Object.keys(command).filter((key) => !commandKeys.has(key));
    if (unknown.length > 0) warnings.push(`${where} has unknown keys: ${unknown.join(', ')}`);
    warnUnended(where, keystrokes, index === list.length - 1, warnings);
    commands.push({ keystrokes, durationSec });
  }
  return checkLength(commands) ?? commands;
}

function isInOrder(value: Readonly<Record<string, unknown>>): boolean {
  const present = Object.keys(value).filter((key) => (replyKeys as readonly string[]).includes(key));
  return present.join() === replyKeys.join();
}

/** Checks one object. With `task_complete`, faults of its commands become warnings and no command is run. */
export function checkReplyObject(
  value: Readonly<Record<string, unknown>>,
  rule: DurationRule,
  warned: readonly string[],
): ParsedReply {
  const warnings = [...warned];
  const missing = replyKeys.filter((key) => !Object.hasOwn(value, key));
  if (missing.length > 0) {
    return { ok: false, error: `the object lacks required keys: ${missing.join(', ')}`, warnings };
  }
  for (const key of ['analysis', 'plan'] as const) {
    if (typeof value[key] !== 'string') warnings.push(`"${key}" should be a string`);
  }
  const list = value['commands'];
  if (!Array.isArray(list)) return { ok: false, error: '"commands" must be a list', warnings };
  if (!isInOrder(value)) warnings.push(`the keys should come in this order: ${replyKeys.join(', ')}`);
  const complete = readComplete(value['task_complete'], warnings);
  const commands = readCommands(list as unknown[], rule, warnings);
  return replyOf({
    commands,
    complete,
    analysis: asText(value['analysis']),
    plan: asText(value['plan']),
    warnings,
  });
}
