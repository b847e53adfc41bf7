// The floor of an oracle trial: what the same two containers cost by raw calls of the engine's API, and nothing else.
import type Docker from 'dockerode';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { extract, pack } from 'tar-stream';

const limits = { nofile: 20_000, nproc: 20_000 };

async function startContainer(docker: Docker, image: string): Promise<Docker.Container> {
  const container = await docker.createContainer({
    Image: image,
    Entrypoint: ['sleep', '600'],
    User: '0',
    HostConfig: {
      NetworkMode: 'none',
      Memory: 512 * 1024 ** 2,
      MemorySwap: 512 * 1024 ** 2,
      NanoCpus: 1e9,
      PidsLimit: 512,
      Ulimits: Object.entries(limits).map(([Name, most]) => ({ Name, Soft: most, Hard: most })),
    },
  });
  await container.start();
  return container;
}

async function execute(container: Docker.Container, command: string): Promise<void> {
  const exec = await container.exec({ Cmd: ['sh', '-c', command], AttachStdout: true, AttachStderr: true });
  const stream = await exec.start({});
  await buffer(stream);
  const { ExitCode } = await exec.inspect();
  if (ExitCode !== 0) throw new Error(`${command} ended with ${String(ExitCode)}`);
}

async function put(
  container: Docker.Container,
  dir: string,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<void> {
  const tar = pack();
  for (const [name, content] of Object.entries(files)) tar.entry({ name, mode: 0o755 }, Buffer.from(content));
  tar.finalize();
  await container.putArchive(await buffer(tar), { path: dir });
}

/** One file out of a container. */
async function get(container: Docker.Container, file: string): Promise<Buffer> {
  const archive = await container.getArchive({ path: file });
  const entries = extract();
  archive.pipe(entries);
  for await (const entry of entries) return await buffer(entry);
  throw new Error(`${file} is not there`);
}

/** Milliseconds of one trial of a task whose work is /work/report.csv. */
export async function floorTrial(docker: Docker, image: string, task: string): Promise<number> {
  const scripts = {
    solve: await readFile(path.join(task, 'solution/solve.sh')),
    tests: Object.fromEntries(
      await Promise.all(
        ['test.sh', 'expected.csv', 'access.sha256'].map(
          async (name) => [name, await readFile(path.join(task, 'tests', name))] as const,
        ),
      ),
    ),
  };
  const started = performance.now();
  const agent = await startContainer(docker, image);
  await put(agent, '/', { 'solution/solve.sh': scripts.solve });
  await execute(agent, 'cd /work && sh /solution/solve.sh');
  const report = await get(agent, '/work/report.csv');
  await agent.remove({ force: true });
  const verifier = await startContainer(docker, image);
  await put(verifier, '/work', { 'report.csv': report });
  await put(
    verifier,
    '/',
    Object.fromEntries(Object.entries(scripts.tests).map(([name, content]) => [`tests/${name}`, content])),
  );
  await execute(verifier, 'mkdir -p /logs/verifier && cd /work && sh /tests/test.sh');
  const reward = await get(verifier, '/logs/verifier/reward.txt');
  await verifier.remove({ force: true });
  if (reward.toString().trim() !== '1') throw new Error('the floor’s own trial does not pass');
  return performance.now() - started;
}
