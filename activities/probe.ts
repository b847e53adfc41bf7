// Whether a model, the store or the platform is back: one small question, and no more.
import { ClassifiedError } from '../domain/errors.ts';
import { modelProbeSession } from '../domain/session-ids.ts';
import type { Activities } from './types.ts';
import { readPlanOf, readSettings, type Run, type World } from './world.ts';

/** A server with a long queue may be that late with its first token; one that takes longer is no better than away. */
const modelPatienceMs = 60_000;

/** @throws ClassifiedError by the class of what is still away */
export async function probe(
  world: World,
  { sweep, plan, away }: Parameters<Activities['probe']>[0],
  run: Run,
): Promise<void> {
  // Asked of the store each time: a model's address may be another by now.
  const settings = await readSettings(world, sweep);
  if (away === 'store') return;
  if (away === 'platform') {
    await world.driver.check();
    return;
  }
  const model = (await readPlanOf(world, plan)).models[away];
  if (model === undefined) throw new ClassifiedError('ConfigInvalid', `the plan has no model ${away}`);
  const late = AbortSignal.timeout(modelPatienceMs);
  try {
    await world.models.for(model, settings).ask({
      messages: [{ role: 'user', content: 'Say yes.' }],
      sessionId: modelProbeSession(sweep),
      attempt: 1,
      maxTokens: 1,
      probing: true,
      signal: AbortSignal.any([run.signal, late]),
    });
  } catch (error) {
    if (!late.aborted || run.signal.aborted) throw error;
    throw new ClassifiedError(
      'ModelUnavailable',
      `model ${model.name}: no token within ${modelPatienceMs / 1_000} s`,
      { cause: error },
    );
  }
}
