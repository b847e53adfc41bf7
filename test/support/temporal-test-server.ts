// The time-skipping Temporal server: a Java program from Maven, fetched once into the cache; one for all files of a tier, or a test's own.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort, untilListening } from './listening.ts';

const version = '1.31.0';
const addressVariable = 'PASSBAND_TEST_TIME_SKIPPING';
const run = promisify(execFile);

const pom = `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>passband</groupId><artifactId>test-server</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>io.temporal</groupId><artifactId>temporal-test-server</artifactId><version>${version}</version>
  </dependency></dependencies>
</project>
`;
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies';

export interface TimeSkippingServer {
  readonly address: string;
  readonly stop: () => Promise<void>;
}

/** Needs `java` and, the first time, `mvn`. */
export async function startTimeSkippingServer(): Promise<TimeSkippingServer> {
  const script = await serverScript();
  const port = await freePort();
  const child = spawn(script, [`${port}`], { stdio: 'ignore' });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  try {
    await untilListening(child, port);
  } catch (error) {
    await stop();
    throw error;
  }
  return { address: `127.0.0.1:${port}`, stop };
}

/** Vitest's global setup of a tier: its server is there before the first file, and gone after the last. */
export default async function setup(): Promise<() => Promise<void>> {
  const server = await startTimeSkippingServer();
  process.env[addressVariable] = server.address;
  return server.stop;
}

/** @throws where the tier has no server, see `setup`. */
export function tierServerAddress(): string {
  const address = process.env[addressVariable];
  if (address === undefined) throw new Error('this tier of tests has no time-skipping server');
  return address;
}

/** Two test runs at once may both fetch it: the folder appears whole, by a rename. */
async function serverScript(): Promise<string> {
  const caches = path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'passband');
  const folder = path.join(caches, `temporal-test-server-${version}`);
  const script = path.join(folder, 'start.sh');
  if (await isThere(script)) return script;
  await mkdir(caches, { recursive: true });
  const work = await mkdtemp(path.join(caches, 'fetching-'));
  try {
    await writeFile(path.join(work, 'pom.xml'), pom);
    const lib = `-DoutputDirectory=${path.join(work, 'lib')}`;
    await run('mvn', [
      '-q',
      '-B',
      '-f',
      path.join(work, 'pom.xml'),
      copyDependencies,
      lib,
      '-DincludeScope=runtime',
    ]);
    const start = `#!/bin/sh\nexec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "${folder}/lib/*" io.temporal.testserver.TestServer "$@" 2>"${folder}/stderr.log"\n`;
    await writeFile(path.join(work, 'start.sh'), start);
    await chmod(path.join(work, 'start.sh'), 0o755);
    await rename(work, folder).catch(async (error: unknown) => {
      if (!(await isThere(script))) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return script;
}

async function isThere(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}
