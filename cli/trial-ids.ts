// What a trial's records tell of its exact ids: where prompts did not go on from the turns before them, and why.
import { generationPrefix, trialPrefix } from '../domain/layout.ts';
import type { TrialInPlan } from '../domain/sweep.ts';
import type { Verdict } from '../domain/verdict.ts';
import type { Store } from '../store/port.ts';
import { readReplies } from '../store/replies.ts';

/** Breaks of a step that are shown one by one. */
const mostShown = 10;

/** A line a step, and one for each of its first breaks. */
export async function idLines(
  store: Store,
  { trial, verdict }: { readonly trial: TrialInPlan; readonly verdict: Verdict },
): Promise<string[]> {
  const lines: string[] = [];
  const generation = generationPrefix(trialPrefix(trial.path), verdict.generation);
  for (const [index, { name, episode }] of verdict.steps.entries()) {
    if (episode?.tokenIds === undefined) continue;
    const { exact, breaks } = episode.tokenIds;
    const counts = Object.entries(breaks).map(([cause, count]) => `${cause} ${count}`);
    lines.push(
      `token ids of step ${name}: exact in ${exact} of ${episode.turns} replies, ${counts.length === 0 ? 'no breaks' : `breaks: ${counts.join(', ')}`}`,
    );
    if (counts.length === 0) continue;
    const broken = (await readReplies(store, generation, index)).flatMap(({ call, promptIds }) =>
      promptIds === null || promptIds.extends
        ? []
        : [
            `  reply ${call}: its prompt breaks at id ${promptIds.breakIndex ?? 0}: ${promptIds.breakCause ?? 'unknown'}`,
          ],
    );
    lines.push(...broken.slice(0, mostShown));
    if (broken.length > mostShown) lines.push(`  and ${broken.length - mostShown} more, in the turn records`);
  }
  return lines;
}
