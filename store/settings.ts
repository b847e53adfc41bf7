// The settings of a sweep as they lie in the store, of whatever version.
import { settingsKey } from '../domain/layout.ts';
import { settingsUpgrades, SweepSettingsSchema, type SweepSettings } from '../domain/sweep.ts';
import { putJson, readJson } from './objects.ts';
import type { Store } from './port.ts';

/** Null where the sweep has none. @throws ObjectError where they are not what was written there */
export const readSweepSettings = (store: Store, sweep: string): Promise<SweepSettings | null> =>
  readJson(store, settingsKey(sweep), SweepSettingsSchema, settingsUpgrades);

/** Replaces them. */
export async function putSweepSettings(store: Store, sweep: string, settings: SweepSettings): Promise<void> {
  await putJson(store, settingsKey(sweep), SweepSettingsSchema, settings);
}
