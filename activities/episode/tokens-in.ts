// Prompts as ids: what is known of an episode goes on as it was sampled, with what the template puts after it.
import type { ChatMessage } from '../../domain/ports.ts';
import type { TokensIn } from '../../domain/sweep.ts';
import type { ModelClient } from '../../model/client.ts';
import type { PromptInIds } from '../../model/completions.ts';
import type { PromptIdsChain } from './prompt-ids.ts';

export interface TokensInOptions {
  readonly settings: TokensIn;
  readonly client: Pick<ModelClient, 'tokenize'>;
  readonly chain: PromptIdsChain;
  readonly sessionId: string;
  readonly signal: AbortSignal;
}

/** Two replies without a common end, so that what two renderings have in common at their ends is not of the reply. */
const standIns = ['a', 'b'] as const;
/** Of the ids that end a message, how many a template may put before the one that a model ends its reply with. */
const longestEnding = 4;

/**
 * The prompt of a chat. Where the chat begins with all that is known and the reply to it, its prompt begins with the
 * known ids: no template is asked for them again. Another history begins anew, as the template renders it.
 */
export async function promptInIds(
  messages: readonly ChatMessage[],
  { settings, client, chain, sessionId, signal }: TokensInOptions,
): Promise<PromptInIds> {
  const render = (said: readonly ChatMessage[]): ReturnType<ModelClient['tokenize']> =>
    client.tokenize({ messages: said, sessionId, signal });
  const added = chain.added(messages);
  if (added === null || added.length === 0) {
    const { ids, contextTokens } = await render(messages);
    return { ...settings, ids, contextTokens };
  }
  const [one, other] = await Promise.all(
    standIns.map((content) =>
      render([{ role: 'user', content: 'a' }, { role: 'assistant', content }, ...added]),
    ),
  );
  if (one === undefined || other === undefined) throw new RangeError('there are two stand-ins');
  const after = withoutEnding(commonEnd(one.ids, other.ids), chain.endedBy);
  return { ...settings, ids: [...chain.known, ...after], contextTokens: one.contextTokens };
}

function commonEnd(a: readonly number[], b: readonly number[]): readonly number[] {
  let length = 0;
  while (length < Math.min(a.length, b.length) && a.at(-1 - length) === b.at(-1 - length)) length += 1;
  return length === 0 ? [] : a.slice(-length);
}

/**
 * What follows a reply, less the ending that it sampled itself: one that was cut at its length has none, and gets the
 * template's.
 */
function withoutEnding(after: readonly number[], endedBy: number | null): readonly number[] {
  const at = after.slice(0, longestEnding).findIndex((id) => id === endedBy);
  return after.slice(at + 1);
}
