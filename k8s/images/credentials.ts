// Credentials of registries, from a Docker config file or the helper program that it names.
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { InputError } from '../../domain/errors.ts';

const Entry = z.object({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  identitytoken: z.string().optional(),
});
const DockerConfig = z.object({
  auths: z.record(z.string(), Entry).default({}),
  credHelpers: z.record(z.string(), z.string()).default({}),
  credsStore: z.string().optional(),
});
const Helped = z.object({ Username: z.string(), Secret: z.string() });

/** Never printed: neither in an error nor in a log. */
export type Credentials =
  { readonly kind: 'basic'; readonly header: string } | { readonly kind: 'identity'; readonly token: string };

/** The file: the one that is named, or Docker's own, which may not be there. */
export function dockerConfigFile(named: string | undefined, env: NodeJS.ProcessEnv): string {
  return named ?? join(env['DOCKER_CONFIG'] ?? join(homedir(), '.docker'), 'config.json');
}

/**
 * The credentials of a registry's host, null where there are none.
 * @throws InputError where the file is named and not there, or is none, or a helper fails.
 */
export async function credentialsOf(
  host: string,
  named: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<Credentials | null> {
  const file = dockerConfigFile(named, env);
  const content = await readFile(file, 'utf8').catch((error: unknown) => {
    if (named === undefined && error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return '{}';
    throw new InputError(
      `${file}: cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      78,
    );
  });
  const { auths, credHelpers, credsStore } = parsed(file, content);
  // Docker Hub's are kept under the address of its first version.
  const keys = host === 'docker.io' ? ['https://index.docker.io/v1/', 'index.docker.io', host] : [host];
  const helper = keys.map((key) => credHelpers[key]).find((name) => name !== undefined);
  if (helper !== undefined) return fromHelper(helper, keys[0] ?? host, env);
  const entry = Object.entries(auths).find(
    ([key]) => keys.includes(key) || keys.includes(bareHost(key)),
  )?.[1];
  const stated = entry === undefined ? null : ofEntry(entry);
  if (stated !== null || credsStore === undefined) return stated;
  return fromHelper(credsStore, keys[0] ?? host, env);
}

function parsed(file: string, content: string): z.infer<typeof DockerConfig> {
  try {
    return DockerConfig.parse(JSON.parse(content));
  } catch {
    // Its words could hold what the file holds.
    throw new InputError(`${file} is no Docker config file`, 78);
  }
}

function ofEntry({ auth, username, password, identitytoken }: z.infer<typeof Entry>): Credentials | null {
  if (identitytoken !== undefined && identitytoken !== '') return { kind: 'identity', token: identitytoken };
  if (auth !== undefined && auth !== '') return { kind: 'basic', header: `Basic ${auth}` };
  return username === undefined ? null : basic(username, password ?? '');
}

const basic = (username: string, password: string): Credentials => ({
  kind: 'basic',
  header: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
});

const bareHost = (key: string): string => key.replace(/^https?:\/\//, '').split('/')[0] ?? key;

async function fromHelper(name: string, server: string, env: NodeJS.ProcessEnv): Promise<Credentials | null> {
  const program = `docker-credential-${name}`;
  const child = spawn(program, ['get'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', (error) => {
      reject(new InputError(`${program}, which the Docker config file names: ${error.message}`, 78));
    });
    child.on('close', resolve);
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(server);
  const [answer, code] = await Promise.all([text(child.stdout), ended]);
  // A helper that has nothing for this server says so with a status alone.
  if (code !== 0) return null;
  const helped = Helped.safeParse(jsonOf(answer));
  // Not in its words: they may hold the secret.
  if (!helped.success) throw new InputError(`${program} answers with something that is no credentials`, 78);
  const { Username, Secret } = helped.data;
  return Username === '<token>' ? { kind: 'identity', token: Secret } : basic(Username, Secret);
}

function jsonOf(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return null; // told apart by the schema
  }
}
