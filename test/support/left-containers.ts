// Containers of one store on the engine that the product finds, asked of the engine itself.
import Docker from 'dockerode';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { findEngine } from '../../embedded/engine.ts';
import { parseEndpoint } from '../../sandbox/engine/endpoint.ts';

/** The id that a store on disk has, null where nothing was graded in it yet. */
async function storeIdOf(storeDir: string): Promise<string | null> {
  const text = await readFile(path.join(storeDir, 'v1/store.json'), 'utf8').catch(() => null);
  return text === null ? null : z.object({ id: z.string() }).parse(JSON.parse(text)).id;
}

async function withContainers<T>(
  storeDir: string,
  work: (docker: Docker, containers: readonly Docker.ContainerInfo[]) => Promise<T>,
): Promise<T | null> {
  const storeId = await storeIdOf(storeDir);
  if (storeId === null) return null;
  const engine = await findEngine(null, process.env);
  try {
    const docker = new Docker(parseEndpoint(engine.endpoint).options);
    const filters = { label: [`passband.store=${storeId}`] };
    return await work(docker, await docker.listContainers({ all: true, filters }));
  } finally {
    await engine.stop();
  }
}

/** Names of all containers of a store, ended ones too. */
export async function containersOf(storeDir: string): Promise<string[]> {
  const names = await withContainers(storeDir, (_, containers) =>
    Promise.resolve(containers.map(({ Names, Id }) => Names[0] ?? Id)),
  );
  return names ?? [];
}

export async function removeContainers(storeDir: string): Promise<void> {
  await withContainers(storeDir, async (docker, containers) => {
    for (const { Id } of containers) await docker.getContainer(Id).remove({ force: true });
  });
}
