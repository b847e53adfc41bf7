// A stream handed on: whoever gets it sees errors in the words of the house, and destroying it frees what it reads from.
import { PassThrough, pipeline, type Duplex, type Readable } from 'node:stream';

/** What `source` gives, through `through`; its errors go through `translate`. */
export function relay(
  source: Readable,
  translate: (error: Error) => Error,
  through: Duplex = new PassThrough(),
): Readable {
  source.once('error', (error: Error) => through.destroy(translate(error)));
  // Whoever reads `through` gets the error: there is no second place to report it.
  pipeline(source, through, () => undefined);
  return through;
}
