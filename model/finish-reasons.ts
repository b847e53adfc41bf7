// Why a server says that a reply ended: every spelling seen, as complete, cut by its length, or broken.
import type { FinishReason } from '../domain/ports.ts';

const atLength = new Set(['length', 'max_tokens', 'max_output_tokens', 'max_length', 'model_length']);

/** The server gave up on the request: what came before is no reply. */
const broken = new Set([
  'abort',
  'aborted',
  'error',
  'cancelled',
  'canceled',
  'insufficient_system_resource',
]);

/**
 * `stop`, `length` or `broken`. Whatever else a server says (`eos_token`, `tool_calls`, `content_filter`,
 * `stop_sequence`, `COMPLETE`, a name of its own) is a reply that ended by itself.
 */
export function readFinishReason(wire: string): FinishReason | 'broken' {
  const name = wire.toLowerCase();
  if (atLength.has(name)) return 'length';
  return broken.has(name) ? 'broken' : 'stop';
}
