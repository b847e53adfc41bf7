// Reads a tool call: a command to run, the end of the work, or the error that the model is told. Pure.
import { z } from 'zod';
import type { ToolCall } from '../../domain/tools.ts';
import type { BashOptions } from './options.ts';

export type ParsedCall =
  | { readonly kind: 'run'; readonly command: string; readonly timeoutSec: number }
  | { readonly kind: 'submit' }
  | { readonly kind: 'error'; readonly error: string };

const ArgumentsSchema = z.object({
  command: z.string({ error: 'is missing, or no string' }),
  timeout_sec: z.number({ error: 'is no number' }).positive({ error: 'is not above 0' }).nullish(),
});

const fault = (error: string): ParsedCall => ({ kind: 'error', error });

/** The object that the arguments are, null where they are none. Without any, they are empty. */
export function argumentsOf({ arguments: written }: ToolCall): Readonly<Record<string, unknown>> | null {
  if (written.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(written);
    const object = typeof value === 'object' && value !== null && !Array.isArray(value);
    return object ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}

/** In words that no version of an engine changes: they are part of the next prompt. */
function whyNoObject(written: string): string {
  try {
    JSON.parse(written);
    return 'the arguments are no JSON object';
  } catch {
    return 'the arguments are not valid JSON';
  }
}

/** A call of a tool that is not there, or with arguments that do not fit, is an error in words for the model. */
export function parseCall(call: ToolCall, options: BashOptions): ParsedCall {
  const tools = options.finish === 'submit' ? ['bash', 'submit'] : ['bash'];
  if (!tools.includes(call.name)) {
    return fault(`there is no tool ${JSON.stringify(call.name)}: there is ${tools.join(' and ')}`);
  }
  if (call.name === 'submit') return { kind: 'submit' };
  const written = argumentsOf(call);
  if (written === null) return fault(whyNoObject(call.arguments));
  const parsed = ArgumentsSchema.safeParse(written);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return fault(`${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not valid'}`);
  }
  const { command, timeout_sec } = parsed.data;
  if (command.trim() === '') return fault('command is empty');
  if (command.includes('\0')) return fault('command holds a NUL character, which no shell takes');
  const timeoutSec = Math.min(timeout_sec ?? options.command_timeout_sec, options.max_command_timeout_sec);
  return { kind: 'run', command, timeoutSec };
}

/** How models write calls; a server's parser takes these out of the text, but for those that it cannot read. */
const callMarks =
  /<\|?tool_(?:calls?|code)(?:_section)?(?:_begin)?\|?>|<function[=_]|<invoke name=|\[TOOL_CALLS?\]|<\|python_tag\|>|<｜tool▁calls?▁begin｜>|```tool_(?:call|code)/;

/** Whether a text holds a call that the server left in it: it is no answer. */
export const holdsCall = (text: string): boolean => callMarks.test(text);
