// The base image that test tasks are built on, on the engine that the product finds.
import { findEngine } from '../../embedded/engine.ts';
import { parseEndpoint } from '../../sandbox/engine/endpoint.ts';
import { ensureDebian } from './engine-harness.ts';

/** Makes debian:12 where the engine does not have it. */
export async function ensureBase(): Promise<void> {
  const engine = await findEngine(null, process.env);
  try {
    await ensureDebian(parseEndpoint(engine.endpoint));
  } finally {
    await engine.stop();
  }
}
