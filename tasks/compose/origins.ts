// What the image of a service is made from: a build inside the task, a reference, or the image of another service.
import { posix } from 'node:path';
import type { ImageOrigin } from '../../domain/services.ts';
import { isHidden } from '../files.ts';
import type { ComposeFile } from './compose-file.ts';
import type { KeyPath } from './document.ts';
import { given, insideTask } from './environment.ts';
import type { ServiceTable } from './schema.ts';
import { mainImageName } from './variables.ts';

/** Null where the file names none, or what it names is refused. */
export function buildOf(file: ComposeFile, at: KeyPath, table: ServiceTable): ImageOrigin | null {
  const { build } = table;
  if (build === undefined) return null;
  const key = [...at, 'build'];
  if (/^[a-z][a-z0-9+.-]*:\/\/|^git@/i.test(build.context)) {
    file.refuse(key, `build of ${build.context}`, 'copy it into environment/');
    return null;
  }
  const dir = insideTask(build.context);
  if (dir === null || isHidden(dir)) {
    file.refuse(key, `build of ${build.context}`, 'it is not in environment/, nor the task’s root');
    return null;
  }
  const dockerfile = posix.normalize(build.dockerfile ?? 'Dockerfile');
  const path = posix.normalize(posix.join(dir, dockerfile));
  if (dockerfile.startsWith('..') || dockerfile.startsWith('/')) {
    file.refuse(key, `dockerfile ${dockerfile}`, 'it is not in its context');
    return null;
  }
  if (!file.layout.hasFile(path)) {
    file.fail(key, `names ${path}, which is missing`);
    return null;
  }
  const args = Object.fromEntries(given(file, [...key, 'args'], build.args ?? {}));
  return {
    kind: 'build',
    dir,
    dockerfile,
    ...(build.target === undefined ? {} : { target: build.target }),
    ...(Object.keys(args).length === 0 ? {} : { args }),
  };
}

/** Builds by the name that the file gives to what they make: another service may use it by that name. */
export function builtNames(
  services: readonly { readonly table: ServiceTable; readonly build: ImageOrigin | null }[],
): ReadonlyMap<string, ImageOrigin> {
  return new Map(
    services.flatMap(({ table, build }): [string, ImageOrigin][] =>
      build === null || table.image === undefined ? [] : [[table.image, build]],
    ),
  );
}

export interface Origins {
  readonly built: ReadonlyMap<string, ImageOrigin>;
  /** The task's own image; null where it could not be told. */
  readonly main: ImageOrigin | null;
}

/** The image of a sidecar; null after a finding. */
export function originOf(
  file: ComposeFile,
  at: KeyPath,
  { table, build }: { readonly table: ServiceTable; readonly build: ImageOrigin | null },
  origins: Origins,
): ImageOrigin | null {
  if (build !== null) return build;
  if (table.image === undefined) {
    if (table.build === undefined) file.fail(at, 'has neither an image nor a build');
    return null;
  }
  const known = origins.built.get(table.image) ?? (table.image === mainImageName ? origins.main : null);
  return known ?? { kind: 'prebuilt', reference: table.image };
}
