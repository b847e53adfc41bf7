// A known-rate model's mind: from a session and the conversation so far to the next reply.
import { createHash } from 'node:crypto';
import { slugOf } from '../../domain/slug.ts';
import { failurePlanOf, intentOf, type FailingWay, type Intent } from './intent.ts';
import type { KnownTask } from './known-task.ts';
import { movesOf } from './moves.ts';
import { nextSpoken, speechOf } from './reply.ts';
import type { Session } from './session.ts';
import type { Said } from './tokens.ts';
import type { Spoken } from './tool-calls.ts';

/** Chooses how a trial of a sweep fails that means to, the same at each of its requests; null: as its intent draws it. */
export type ChooseWay = (sweep: string, intent: Intent) => FailingWay | null;

/** The tasks and the seed that decide everything a server says. */
export interface Mind {
  readonly seed: number;
  readonly tasks: ReadonlyMap<string, KnownTask>;
  readonly chooseWay: ChooseWay;
}

/** The step that a session is in, or the one line that says what is not known. */
export function findStep(mind: Mind, session: Session): { task: KnownTask; step: number } | string {
  const task = mind.tasks.get(session.task);
  if (task === undefined) {
    return `X-Session-ID names the task '${session.task}', which this server was not started with`;
  }
  const step = task.steps.findIndex(({ name }) => slugOf(name) === session.step);
  return step === -1
    ? `X-Session-ID names the step '${session.step}', but '${session.task}' has ${task.steps.map(({ name }) => name).join(', ')}`
    : { task, step };
}

/** Names one conversation of a trial, alike in all its generations. */
function tagOf(model: string, { sweep, task, attempt, step }: Session): string {
  const names = [sweep, task, model, attempt, step];
  return createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 12);
}

/** The next reply in a known step. */
export function think(
  mind: Mind,
  place: {
    readonly model: string;
    readonly session: Session;
    readonly task: KnownTask;
    readonly step: number;
  },
  { messages, tools }: { readonly messages: readonly Said[]; readonly tools: readonly string[] },
): Spoken {
  const { model, session, task, step } = place;
  const intent = intentOf(mind.seed, model, session.task, session.attempt);
  const tag = tagOf(model, session);
  const failure = failurePlanOf(intent, task, mind.chooseWay(session.sweep, intent));
  return nextSpoken(movesOf(intent, failure, { task, step, tag }), messages, {
    tag,
    speech: speechOf(tools),
  });
}

/** The intents of attempts 1 to `attempts` of each task, as GET /intents gives them: their ways as they are drawn. */
export function listIntents(mind: Mind, models: readonly string[], attempts: number): object[] {
  return models.flatMap((model) =>
    [...mind.tasks.values()].flatMap((task) =>
      Array.from({ length: attempts }, (_, at) => {
        const intent = intentOf(mind.seed, model, task.slug, at + 1);
        const failure = failurePlanOf(intent, task);
        return {
          model,
          task: task.slug,
          id: task.id,
          attempt: at + 1,
          solve: intent.solve,
          way: failure?.way ?? null,
          step: failure === null ? null : (task.steps[failure.step]?.name ?? null),
        };
      }),
    ),
  );
}
