// Terminus-2: the reference scaffold of Terminal-Bench, wire-compatible, with each difference a named option.
import type { Scaffold } from '../../domain/ports.ts';
import { runTerminus2 } from './episode.ts';
import { outputLimitBytes } from './observation.ts';
import { parseTerminus2Options } from './options.ts';

export const terminus2: Scaffold = {
  name: 'terminus-2',
  // The reference's version, then ours: any change of words, parsing or order of calls raises it.
  version: '2.0.0-passband.2',
  needsSolution: false,
  needsModel: true,
  parseOptions: (options) => ({ ...parseTerminus2Options(options) }),
  terminal: (options) => {
    const { tmux_pane_width, tmux_pane_height } = parseTerminus2Options(options);
    return { columns: tmux_pane_width, rows: tmux_pane_height, limitBytes: outputLimitBytes };
  },
  episode: ({ instruction, options }, tools) =>
    runTerminus2(instruction, parseTerminus2Options(options), tools),
};
