// bash: native tool calls, one tool, a shell that the calls share.
import type { Scaffold } from '../../domain/ports.ts';
import { runBash } from './episode.ts';
import { parseBashOptions } from './options.ts';

export const bash: Scaffold = {
  name: 'bash',
  // Any change of words, tools, parsing, the shell or the order of calls raises it.
  version: '1.0.0',
  needsSolution: false,
  needsModel: true,
  offersTools: true,
  parseOptions: (options) => ({ ...parseBashOptions(options) }),
  episode: ({ instruction, options }, tools) => runBash(instruction, parseBashOptions(options), tools),
};
