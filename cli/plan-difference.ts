// Says in a person's words how two plans of one name differ.
import type { Plan } from '../domain/sweep.ts';

/** A value at a dotted path, printed short. */
function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function namedLists(plan: Plan): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>([
    ...plan.tasks.flatMap((task): [string, unknown][] => [
      [`task ${task.id}: digest`, task.digest],
      [`task ${task.id}: solution digest`, task.solutionDigest],
      [`task ${task.id}: limits`, task.task.limits],
    ]),
    ...plan.models.flatMap((model): [string, unknown][] => [
      [`model ${model.name}: attempts`, model.attempts],
      [`model ${model.name}: revision`, model.revision],
      [`model ${model.name}: sampling`, model.sampling],
      [`model ${model.name}: tokens in`, model.tokensIn],
      [`model ${model.name}: nominal tokens a second`, model.nominalTokensPerSecond],
    ]),
    ...plan.scaffolds.flatMap((scaffold): [string, unknown][] => [
      [`scaffold ${scaffold.name}: version`, scaffold.version],
      [`scaffold ${scaffold.name}: options`, scaffold.options],
    ]),
    ...plan.rejected.map((rejection): [string, unknown] => [`rejected ${rejection.task}`, rejection.reason]),
    ['driver', plan.driver],
    ['network', plan.network],
    ['clock', plan.clock],
    ['unaudited', plan.unaudited],
    ['reward key', plan.rewardKey],
    ['offline build', plan.offlineBuild],
    ['order of tasks', plan.tasks.map((task) => task.id)],
    ['order of models', plan.models.map((model) => model.name)],
  ]);
}

/** One line a difference, `was` against `is`; empty where the plans grade the same in the same order. */
export function differences(was: Plan, is: Plan): readonly string[] {
  const before = namedLists(was);
  const after = namedLists(is);
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [old, now] = [before.get(key), after.get(key)];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    return [
      `${key}: ${before.has(key) ? shown(old) : 'not there'} in the plan, ${after.has(key) ? shown(now) : 'not there'} now`,
    ];
  });
}
