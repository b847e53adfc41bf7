// The one conformance suite of the sandbox port: every driver passes all of it.
import { afterAll, beforeAll, describe } from 'vitest';
import { archivesConform } from './conformance/archives.ts';
import { commandsConform } from './conformance/commands.ts';
import { deltasConform } from './conformance/deltas.ts';
import { filesConform } from './conformance/files.ts';
import type { Harness, Platform } from './conformance/harness.ts';
import { laidDeltasConform } from './conformance/laid-deltas.ts';
import { lifecycleConforms } from './conformance/lifecycle.ts';
import { limitsConform } from './conformance/limits.ts';
import { lossConforms } from './conformance/loss.ts';
import { terminalConforms } from './conformance/terminal.ts';

export function conformance(name: string, platform: Platform, makeHarness: () => Promise<Harness>): void {
  describe(name, () => {
    let harness: Harness | null = null;
    const get = (): Harness => {
      if (harness === null) throw new Error('the harness is not there yet');
      return harness;
    };
    beforeAll(async () => {
      harness = await makeHarness();
    });
    afterAll(async () => {
      await harness?.close();
    });
    lifecycleConforms(get);
    commandsConform(get, platform);
    filesConform(get);
    archivesConform(get);
    deltasConform(get);
    laidDeltasConform(get);
    terminalConforms(get);
    limitsConform(get, platform);
    lossConforms(get, platform);
  });
}
