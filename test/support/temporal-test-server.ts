// The time-skipping Temporal server: a Java program from Maven, fetched once into the cache and started by a script.
import { execFile } from 'node:child_process';
import { access, chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const version = '1.31.0';
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

/**
 * Path of an executable that takes a port, as the SDK starts it. Needs `java` and, the first time, `mvn`.
 * Two test runs at once may both fetch it: the folder appears whole, by a rename.
 */
export async function timeSkippingServerPath(): Promise<string> {
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
