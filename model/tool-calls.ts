// Puts the fragments of a stream's tool calls together, in every shape in which servers send them.
import type { WireToolCall } from './chunks.ts';
import type { RawToolCall } from './answer.ts';

interface Building {
  /** As the server counts; null where it does not. */
  readonly index: number | null;
  id: string;
  name: string;
  arguments: string;
}

/**
 * Fragments belong to the call of their index. Where there is none, or all say the same one, a call begins where a
 * name comes with another id, or with a name after arguments; whatever else comes goes to the last call.
 */
export class ToolCallAssembly {
  readonly #calls: Building[] = [];

  /** In the order in which the server counts them, else in that of their beginnings. */
  get calls(): RawToolCall[] {
    return this.#calls
      .toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
      .map((call) => ({ id: call.id === '' ? null : call.id, name: call.name, arguments: call.arguments }));
  }

  /** Takes the fragments of one chunk. */
  take(fragments: readonly WireToolCall[]): void {
    for (const fragment of fragments) this.#takeOne(fragment);
  }

  #takeOne(fragment: WireToolCall): void {
    const id = fragment.id ?? '';
    const name = fragment.function?.name ?? '';
    const call = this.#callOf(fragment.index ?? null, id, name);
    // An id or a name that is said again whole is no piece of one.
    if (id !== '' && id !== call.id) call.id += id;
    if (name !== '' && name !== call.name) call.name += name;
    const written = fragment.function?.arguments ?? '';
    call.arguments += typeof written === 'string' ? written : JSON.stringify(written);
  }

  #callOf(index: number | null, id: string, name: string): Building {
    const last = index === null ? this.#calls.at(-1) : this.#calls.findLast((call) => call.index === index);
    if (last !== undefined && !begins(last, id, name, index === null)) return last;
    const call = { index, id: '', name: '', arguments: '' };
    this.#calls.push(call);
    return call;
  }
}

/** Whether a fragment begins a call after `last` in place of going on with it. */
function begins(last: Building, id: string, name: string, uncounted: boolean): boolean {
  if (name === '' || last.name === '') return false;
  if (id !== '' && last.id !== '') return id !== last.id;
  return uncounted && last.arguments !== '';
}
