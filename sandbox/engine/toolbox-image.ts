// The toolbox as an image of its own on this engine, built once for each content of its folder.
import { readToolbox, toolboxTimeoutMs } from '../images/toolbox-source.ts';
import { build } from './build.ts';
import type { Engine } from './engine.ts';
import { NotThere } from './engine-errors.ts';

/** Ensures the toolbox's image; its reference ends with the digest of what it is made from. */
export async function ensureToolbox(engine: Engine, folder?: string, signal?: AbortSignal): Promise<string> {
  const source = await readToolbox(folder);
  const tag = `localhost/passband/toolbox:${source.digest}`;
  try {
    await engine.inspectImage(tag);
    return tag;
  } catch (error) {
    if (!(error instanceof NotThere)) throw error;
  }
  const request = { tag, dockerfile: 'Dockerfile', bases: source.bases, offline: false };
  const limits = { timeoutMs: toolboxTimeoutMs, late: 'PlatformUnavailable' } as const;
  await build(engine, { ...request, ...limits, context: source.context() }, signal);
  return tag;
}
