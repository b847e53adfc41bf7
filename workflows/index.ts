// Every workflow that a worker runs, and nothing else: the root of the bundle.
export { gate } from './gate.ts';
export { sweep } from './sweep.ts';
export { trial } from './trial.ts';
