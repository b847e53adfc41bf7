// A build context before the engine gets it: its Dockerfile's bases, and .dockerignore applied as the Docker CLI does.
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import dockerignore from '@balena/dockerignore';
import { DockerfileParser } from 'dockerfile-ast';
import { extract } from 'tar-stream';
import { filterTar } from '../archive/filter-tar.ts';

const maxTextBytes = 1024 ** 2;

export interface ContextFacts {
  /** Images of other places that the Dockerfile builds on, in order. */
  readonly bases: readonly string[];
  /** Lines of .dockerignore; null where there is none. */
  readonly ignored: string | null;
}

/** Reads a context (a tar) once for what must be known before it is sent. */
export async function readContext(context: Readable, dockerfile: string): Promise<ContextFacts> {
  const found = new Map<string, string>();
  const entries = extract();
  context.on('error', (error) => entries.destroy(error));
  context.pipe(entries);
  for await (const entry of entries) {
    const name = plainName(entry.header.name);
    const wanted = name === plainName(dockerfile) || name === '.dockerignore';
    if (wanted && entry.header.size <= maxTextBytes) found.set(name, await text(entry));
    else entry.resume();
  }
  return {
    bases: basesOf(found.get(plainName(dockerfile)) ?? ''),
    ignored: found.get('.dockerignore') ?? null,
  };
}

/** The context as it is to be sent. The Dockerfile and .dockerignore always are. */
export function sentContext(context: Readable, dockerfile: string, { ignored }: ContextFacts): Readable {
  if (ignored === null) return context;
  const rules = dockerignore.default().add(ignored);
  const always = new Set([plainName(dockerfile), '.dockerignore']);
  const judge = (path: string): string | null => {
    const name = path.slice(1);
    return name !== '' && !always.has(name) && rules.ignores(name) ? 'in .dockerignore' : null;
  };
  return filterTar(context, { judge, maxBytes: Infinity }, () => undefined);
}

/** Names in FROM that are neither stages of this Dockerfile nor `scratch`, variables replaced by their defaults. */
export function basesOf(dockerfile: string): readonly string[] {
  const parsed = DockerfileParser.parse(dockerfile);
  const values = new Map(
    parsed.getInitialARGs().map((arg) => {
      const property = arg.getProperty();
      return [property?.getName() ?? '', property?.getValue() ?? ''];
    }),
  );
  const stages = new Set<string>(['scratch']);
  const bases: string[] = [];
  for (const from of parsed.getFROMs()) {
    const image = (from.getImage() ?? '').replaceAll(
      /\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))/g,
      (_, braced: string | undefined, fallback: string | undefined, bare: string | undefined) =>
        values.get(braced ?? bare ?? '') ?? fallback ?? '',
    );
    if (image !== '' && !stages.has(image.toLowerCase())) bases.push(image);
    const stage = from.getBuildStage();
    if (stage !== null) stages.add(stage.toLowerCase());
  }
  return [...new Set(bases)];
}

const plainName = (name: string): string => name.replace(/^(\.?\/)+/, '').replace(/\/+$/, '');
