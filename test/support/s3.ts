// A real S3 server for tests: versitygw, built once from its Go module into the cache folder, on a free loopback port.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { freePort, untilListening } from './listening.ts';

const version = '1.8.0';
const module = 'github.com/versity/versitygw';
/** Of a cold build on two busy cores; a warm start takes a tenth of a second. */
export const s3StartTimeoutMs = 900_000;

export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  stop(): Promise<void>;
}

/**
 * Starts the server with one empty bucket, and puts its credentials into this process's environment, where the SDK's
 * default chain and child processes find them.
 */
export async function startS3Server(): Promise<S3Server> {
  const binary = await serverBinary();
  const folder = await mkdtemp(path.join(tmpdir(), 'passband-s3-'));
  const port = await freePort();
  process.env['AWS_ACCESS_KEY_ID'] = 'passband';
  process.env['AWS_SECRET_ACCESS_KEY'] = 'passband-secret';
  const child = spawn(
    binary,
    [
      '--access',
      'passband',
      '--secret',
      'passband-secret',
      '--port',
      `127.0.0.1:${port}`,
      '--quiet',
      'posix',
      folder,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  // Tests cut its connections on purpose: what it says of that matters only where it does not start.
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-2000)));
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilListening(child, port);
    const server = { endpoint: `http://127.0.0.1:${port}`, bucket: 'passband-test', stop };
    await createBucket(server);
    return server;
  } catch (error) {
    await stop();
    throw new Error(`versitygw does not serve: ${said}`, { cause: error });
  }
}

async function serverBinary(): Promise<string> {
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache');
  const binary = path.join(cache, 'passband', 'bin', `versitygw-${version}`);
  const there = await access(binary).then(
    () => true,
    () => false,
  );
  if (!there) await build(binary);
  return binary;
}

/** Builds in a throw-away module, and moves the whole binary to its name: another test run may be building too. */
async function build(binary: string): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'passband-go-'));
  try {
    await writeFile(path.join(folder, 'go.mod'), `module tools\ngo 1.24\nrequire ${module} v${version}\n`);
    await writeFile(
      path.join(folder, 'tools.go'),
      `//go:build tools\npackage tools\nimport _ "${module}/cmd/versitygw"\n`,
    );
    const go = (...args: string[]): Promise<unknown> =>
      promisify(execFile)('go', args, { cwd: folder, env: { ...process.env, CGO_ENABLED: '0' } });
    await go('mod', 'tidy').catch((error: unknown) => {
      throw new Error('versitygw could not be built: is Go on PATH?', { cause: error });
    });
    await mkdir(path.dirname(binary), { recursive: true });
    const unfinished = `${binary}.${process.pid}`;
    await go('build', '-trimpath', '-ldflags', '-s -w', '-o', unfinished, `${module}/cmd/versitygw`);
    await rename(unfinished, binary);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function createBucket({ endpoint, bucket }: { endpoint: string; bucket: string }): Promise<void> {
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
}
