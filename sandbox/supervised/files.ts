// Files into and out of a sandbox: tar streams, retried whole on a cut, counted and hashed on both ends.
import type { Readable } from 'node:stream';
import type { User } from '../../domain/task.ts';
import { ConnectionLost } from '../protocol/frames.ts';
import {
  EmptyResponse,
  GetResponse,
  ListResponse,
  PutResponse,
  StatResponse,
  UsersResponse,
  type StatEntry,
} from '../protocol/responses.ts';
import type { GetOptions, GetResult, PutOptions, Transfer } from '../port.ts';
import { recovering } from './recovery.ts';
import type { Supervised } from './supervised.ts';

/** Paths in one question, and about how many characters of them, so that no question outgrows a frame. */
const pathsPerRequest = 5_000;
const charactersPerRequest = 2 * 1024 ** 2;

export async function putFiles(
  sandbox: Supervised,
  tar: () => Readable,
  { dir, replace, owner }: PutOptions,
): Promise<Transfer> {
  const request = { op: 'put', dir, replace, owner: await ownerOf(sandbox, owner) };
  return recovering(sandbox, `files into ${dir}`, async (connection) => {
    const { response, sent } = await connection.exchange({ request, response: PutResponse, body: tar() });
    if (sent?.bytes !== response.bytes || sent.sha256 !== response.sha256) {
      throw new ConnectionLost(
        `${response.bytes} bytes arrived of ${sent?.bytes ?? 0}, or not those that were sent`,
      );
    }
    return response;
  });
}

export async function getFiles(
  sandbox: Supervised,
  { paths, exclude, maxBytes }: GetOptions,
  sink: (tar: Readable) => Promise<void>,
): Promise<GetResult> {
  const request = { op: 'get', paths, recursive: true, exclude: exclude ?? [], maxBytes };
  return recovering(sandbox, `files from ${paths[0] ?? '/'}`, async (connection) => {
    const { response, received } = await connection.exchange({ request, response: GetResponse, sink });
    if (received === null) throw new ConnectionLost('no archive came');
    return { missing: response.missing, truncated: response.truncated, ...received };
  });
}

export async function removePaths(sandbox: Supervised, paths: readonly string[]): Promise<void> {
  for (const some of batches(paths)) {
    await recovering(sandbox, `removing ${some[0] ?? ''}`, (connection) =>
      connection.exchange({ request: { op: 'remove', paths: some }, response: EmptyResponse }),
    );
  }
}

export async function listNames(
  sandbox: Supervised,
  dirs: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = new Map<string, readonly string[]>();
  for (const some of batches(dirs)) {
    const { response } = await recovering(sandbox, `names in ${some[0] ?? ''}`, (connection) =>
      connection.exchange({ request: { op: 'list', dirs: some }, response: ListResponse }),
    );
    for (const dir of some) names.set(dir, response.names[dir] ?? []);
  }
  return names;
}

/** lstat of each path, in order; null where there is nothing. */
export async function statPaths(
  sandbox: Supervised,
  paths: readonly string[],
): Promise<readonly (StatEntry | null)[]> {
  const all: (StatEntry | null)[] = [];
  for (const some of batches(paths)) {
    const { response } = await recovering(sandbox, `stat of ${some[0] ?? ''}`, (connection) =>
      connection.exchange({ request: { op: 'stat', paths: some }, response: StatResponse }),
    );
    if (response.entries.length !== some.length) {
      throw new ConnectionLost(`${response.entries.length} answers came to ${some.length} paths`);
    }
    for (const entry of response.entries) all.push(entry);
  }
  return all;
}

/** Ids of an owner as /etc/passwd of the sandbox has them; null stays null. */
async function ownerOf(sandbox: Supervised, owner: User): Promise<{ uid: number; gid: number } | null> {
  if (owner === null) return null;
  if (owner === 0 || owner === 'root') return { uid: 0, gid: 0 };
  const { response } = await recovering(sandbox, 'users', (connection) =>
    connection.exchange({ request: { op: 'users' }, response: UsersResponse }),
  );
  const user = response.users.find(
    ({ name, uid }) => name === owner || uid === owner || String(uid) === owner,
  );
  if (user !== undefined) return { uid: user.uid, gid: user.gid };
  // A name that is not there: its files are root's, and what is run as that user fails by itself.
  return typeof owner === 'number' ? { uid: owner, gid: owner } : { uid: 0, gid: 0 };
}

function* batches(paths: readonly string[]): Generator<readonly string[]> {
  let from = 0;
  let characters = 0;
  for (const [at, path] of paths.entries()) {
    if (at > from && (at - from === pathsPerRequest || characters + path.length > charactersPerRequest)) {
      yield paths.slice(from, at);
      [from, characters] = [at, 0];
    }
    characters += path.length;
  }
  if (from < paths.length) yield paths.slice(from);
}
