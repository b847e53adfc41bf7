// Every scaffold, a line each: a folder is added here and nowhere else.
export { bash } from './bash/index.ts';
export { nop } from './nop/index.ts';
export { oracle } from './oracle/index.ts';
export { terminus2 } from './terminus-2/index.ts';
