// What an episode changed: entries with their lstat, and one tar of exactly those, its size known before it is asked for.
import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import ignore from 'ignore';
import type { DeltaEntry } from '../../domain/delta.ts';
import type { Artifact } from '../../domain/task.ts';
import { TarObserver } from '../archive/tar-observer.ts';
import { ConnectionLost } from '../protocol/frames.ts';
import { GetResponse, type StatEntry } from '../protocol/responses.ts';
import type { RefusedEntry, TakenDelta } from '../port.ts';
import { seeChanges, type Change } from './changes.ts';
import { statPaths } from './files.ts';
import { recovering } from './recovery.ts';
import type { Supervised } from './supervised.ts';
import { notFound, resolvePath, walk } from './walk.ts';

/** A delta of more paths is over its limit whatever their size: the question for it must fit into one frame. */
const maxEntries = 200_000;
const maxPathBytes = 15 * 1024 ** 2;

type Sink = (tar: Readable) => Promise<void>;

interface Selection {
  readonly deleted: readonly string[];
  readonly present: readonly { readonly change: 'added' | 'changed'; readonly stat: StatEntry }[];
  readonly refused: readonly RefusedEntry[];
  readonly missing: readonly string[];
  readonly tooMany: boolean;
}

/** The difference of the whole file system against the image, volumes of the image taken whole. */
export async function takeDelta(sandbox: Supervised, limitBytes: number, sink: Sink): Promise<TakenDelta> {
  const seen = await seeChanges(sandbox);
  const changes = seen.changes.slice(0, maxEntries);
  const stats = await statPaths(
    sandbox,
    changes.map(({ path }) => path),
  );
  const deleted: string[] = [];
  const refused: RefusedEntry[] = [...seen.refused];
  const present: { change: 'added' | 'changed'; stat: StatEntry }[] = [];
  const select = ({ path, change }: Change, stat: StatEntry | null): void => {
    // A directory that was removed and made anew is listed as deleted, and stands there all the same.
    if (change === 'deleted') deleted.push(path);
    if (stat !== null)
      present.push({ change: change === 'changed' ? 'changed' : 'added', stat: { ...stat, path } });
    else if (change !== 'deleted') refused.push({ path, why: notFound });
  };
  changes.forEach((change, at) => select(change, stats[at] ?? null));
  let tooMany = seen.truncated || changes.length < seen.changes.length;
  for (const volume of sandbox.link.volumes) {
    const root = await resolvePath(sandbox, volume);
    if (root === null) continue;
    const walked = await walk(sandbox, root, () => true, maxEntries - present.length);
    for (const stat of walked.entries) present.push({ change: 'added', stat });
    refused.push(...walked.refused);
    tooMany ||= walked.overLimit;
  }
  return take(sandbox, { deleted, present, refused, missing: [], tooMany }, { limitBytes, sink });
}

/** The declared artifacts: each source with all below it but its excludes, links in its parents resolved. */
export async function takeArtifacts(
  sandbox: Supervised,
  artifacts: readonly Artifact[],
  { limitBytes, sink }: { readonly limitBytes: number; readonly sink: Sink },
): Promise<TakenDelta> {
  const missing: string[] = [];
  const found = new Map<string, StatEntry>();
  const refused: RefusedEntry[] = [];
  let tooMany = false;
  for (const { source, exclude } of artifacts) {
    const root = await resolvePath(sandbox, posix.resolve(sandbox.facts.image.workdir, source));
    if (root === null) missing.push(source);
    const roots = root === null ? [] : [root, ...(await linked(sandbox, root))];
    const rules = ignore().add([...exclude]);
    const keep = (relative: string, directory: boolean): boolean =>
      !rules.ignores(directory ? `${relative}/` : relative);
    for (const from of roots) {
      const walked = await walk(sandbox, from, keep, maxEntries - found.size);
      for (const stat of walked.entries) found.set(stat.path, stat);
      refused.push(...walked.refused);
      tooMany ||= walked.overLimit;
    }
  }
  const present = [...found.values()].map((stat) => ({ change: 'added' as const, stat }));
  return take(sandbox, { deleted: [], present, refused, missing, tooMany }, { limitBytes, sink });
}

/** What a source that is itself a link leads to: it goes along, or the link would lead nowhere. */
async function linked(sandbox: Supervised, root: StatEntry): Promise<readonly StatEntry[]> {
  const chain: StatEntry[] = [];
  let current: StatEntry | null = root;
  while (current?.kind === 'symlink' && chain.length < 40) {
    current = await resolvePath(sandbox, posix.resolve(posix.dirname(current.path), current.target ?? ''));
    if (current !== null) chain.push(current);
  }
  return chain;
}

async function take(
  sandbox: Supervised,
  selection: Selection,
  { limitBytes, sink }: { readonly limitBytes: number; readonly sink: Sink },
): Promise<TakenDelta> {
  const taken = selection.present
    .filter(({ stat }) => stat.kind !== 'other')
    .toSorted((a, b) => (a.stat.path < b.stat.path ? -1 : 1));
  const special = selection.present
    .filter(({ stat }) => stat.kind === 'other')
    .map(({ stat }) => ({ path: stat.path, why: 'a socket, a FIFO or a device' }));
  const bytes = taken.reduce((sum, { stat }) => sum + (stat.kind === 'file' ? stat.bytes : 0), 0);
  const paths = taken.map(({ stat }) => stat.path);
  const tooBig =
    selection.tooMany || bytes > limitBytes || Buffer.byteLength(JSON.stringify(paths)) > maxPathBytes;
  const content =
    tooBig || paths.length === 0 ? null : await getContent(sandbox, { paths, limitBytes, sink });
  const hardLinks = content?.hardLinks ?? new Map<string, string>();
  const gone = new Set(content?.missing);
  const vanished = [...gone].map((path) => ({ path, why: 'gone when it was to be read' }));
  const entries: DeltaEntry[] = [
    ...selection.deleted.toSorted().map(deletedEntry),
    ...taken
      .filter(({ stat }) => !gone.has(stat.path))
      .map(({ change, stat }) => entryOf(change, stat, hardLinks.get(stat.path) ?? null)),
  ];
  const overLimit = tooBig || content?.truncated === true;
  return {
    manifest: {
      format: 'passband.delta',
      version: 1,
      entries,
      refused: [...selection.refused, ...special, ...vanished, ...(content?.refused ?? [])],
      missing: [...selection.missing],
    },
    overLimit,
    hasContent: content !== null && !overLimit,
  };
}

interface Content {
  readonly missing: readonly string[];
  readonly refused: readonly RefusedEntry[];
  readonly truncated: boolean;
  readonly hardLinks: ReadonlyMap<string, string>;
}

async function getContent(
  sandbox: Supervised,
  {
    paths,
    limitBytes,
    sink,
  }: { readonly paths: readonly string[]; readonly limitBytes: number; readonly sink: Sink },
): Promise<Content> {
  // Headers, long names and padding come on top of the content; a file may have grown since its size was read.
  const maxBytes = limitBytes + (paths.length + 1) * 8_192;
  const request = { op: 'get', paths, recursive: false, exclude: [], maxBytes };
  return recovering(sandbox, 'the delta', async (connection) => {
    const hardLinks = new Map<string, string>();
    const observed = async (tar: Readable): Promise<void> => {
      const observer = new TarObserver((header) => {
        if (header.type === 'link') hardLinks.set(`/${header.name}`, `/${header.linkname}`);
      });
      tar.on('error', (error) => observer.destroy(error));
      tar.pipe(observer);
      await sink(observer);
      if (!observer.destroyed) await finished(observer.resume());
    };
    const { response, received } = await connection.exchange({
      request,
      response: GetResponse,
      sink: observed,
    });
    if (received === null) throw new ConnectionLost('no archive came');
    return { ...response, hardLinks };
  });
}

function entryOf(change: 'added' | 'changed', stat: StatEntry, hardLink: string | null): DeltaEntry {
  const { path, kind, mode, uid, gid, bytes } = stat;
  const target = hardLink ?? (kind === 'symlink' ? (stat.target ?? '') : null);
  return {
    path,
    change,
    kind: hardLink === null ? kind : 'hardlink',
    mode,
    uid,
    gid,
    bytes: kind === 'file' ? bytes : 0,
    target,
  };
}

function deletedEntry(path: string): DeltaEntry {
  return { path, change: 'deleted', kind: 'other', mode: 0, uid: 0, gid: 0, bytes: 0, target: null };
}
