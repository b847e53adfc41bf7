// The scaffolds by name, and what their options say of the terminal that they are given.
import { z } from 'zod';
import { InputError } from '../domain/errors.ts';
import type { Scaffold } from '../domain/ports.ts';
import { nop } from './nop/index.ts';
import { oracle } from './oracle/index.ts';
import { outputLimitBytes } from './terminus-2/observation.ts';
import { terminus2 } from './terminus-2/index.ts';

export const scaffolds: readonly Scaffold[] = [terminus2, oracle, nop];

/** @throws InputError naming the scaffolds that there are */
export function scaffoldNamed(name: string): Scaffold {
  const found = scaffolds.find((scaffold) => scaffold.name === name);
  if (found !== undefined) return found;
  const names = scaffolds.map((scaffold) => scaffold.name).join(', ');
  throw new InputError(`unknown scaffold ${JSON.stringify(name)}: choose one of ${names}`);
}

export interface TerminalSettings {
  readonly columns: number;
  readonly rows: number;
  /** Bytes of new output, and of the screen, that an observation holds. */
  readonly limitBytes: number;
}

const PaneSchema = z.object({
  tmux_pane_width: z.int().positive().default(160),
  tmux_pane_height: z.int().positive().default(40),
});

/** The terminal that an episode under these parsed options runs on. */
export function terminalSettings(options: Readonly<Record<string, unknown>>): TerminalSettings {
  const pane = PaneSchema.parse(options);
  return { columns: pane.tmux_pane_width, rows: pane.tmux_pane_height, limitBytes: outputLimitBytes };
}
