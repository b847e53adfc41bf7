// Prints the path of a Temporal server's program, found as the product finds it.
import { findTemporalBinary } from '../../embedded/temporal-binary.ts';

const note = (line: string): void => {
  process.stderr.write(`cluster: ${line}\n`);
};
process.stdout.write(`${await findTemporalBinary({ given: null, env: process.env, note })}\n`);
