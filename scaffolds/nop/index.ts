// Nop: does nothing, so that a task which passes untouched is found out.
import type { Scaffold } from '../../domain/ports.ts';
import { refuseOptions } from '../no-options.ts';

export const nop: Scaffold = {
  name: 'nop',
  version: '1.0.0',
  needsSolution: false,
  needsModel: false,
  parseOptions: (options) => refuseOptions('nop', options),
  episode: ({ instruction }, { log }) => {
    log({ source: 'user', message: instruction });
    return Promise.resolve({ ending: 'completed', detail: null });
  },
};
