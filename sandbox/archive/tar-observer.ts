// Passes a tar through unchanged, and tells of each header on its way.
import { Transform, type TransformCallback } from 'node:stream';
import { extract, type Extract, type Header } from 'tar-stream';

export class TarObserver extends Transform {
  readonly #extract: Extract;

  /** `onHeader` sees each entry once, in order. A stream that is no tar is an error of this stream. */
  constructor(onHeader: (header: Header) => void) {
    super();
    this.#extract = extract();
    this.#extract.on('entry', (header, content, next) => {
      onHeader(header);
      content.on('end', () => next());
      content.resume();
    });
    this.#extract.on('error', (error: Error) => this.destroy(error));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (this.#extract.write(chunk)) done(null, chunk);
    else this.#extract.once('drain', () => done(null, chunk));
  }

  override _flush(done: TransformCallback): void {
    this.#extract.once('close', () => done());
    this.#extract.end(null);
  }
}
