// A base image from this machine, as a command asks for it: NAME=DIR, NAME=TAR or NAME=debootstrap.
import { stat } from 'node:fs/promises';
import { InputError } from '../../domain/errors.ts';
import { suiteOf } from './debootstrap.ts';

export type BaseSource =
  | { readonly kind: 'folder' | 'tar'; readonly path: string }
  | { readonly kind: 'debootstrap'; readonly suite: string; readonly packages: readonly string[] };

export interface BaseRequest {
  /** As FROM will name it: `debian:12`, `dsbase-venv312:local`, `registry.example/team/base:3`. */
  readonly name: string;
  readonly source: BaseSource;
}

const grammar = 'give NAME=DIR, NAME=TAR or NAME=debootstrap[:PACKAGE,PACKAGE...]';
const namePattern =
  /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?::\d+)?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?$/;

/** Parses `NAME=DIR|TAR|debootstrap[:PACKAGES]`. InputError where the name or the source is none. */
export async function parseBase(text: string): Promise<BaseRequest> {
  const at = text.indexOf('=');
  const name = text.slice(0, at);
  const from = text.slice(at + 1);
  if (at < 1 || from === '') throw new InputError(`${text}: ${grammar}`);
  if (!namePattern.test(name)) throw new InputError(`${name} is not the name of an image: ${grammar}`);
  const boot = /^debootstrap(?::(.*))?$/.exec(from);
  if (boot !== null) {
    const packages = (boot[1] ?? '').split(',').filter((word) => word !== '');
    return { name, source: { kind: 'debootstrap', suite: suiteOf(name), packages } };
  }
  const found = await stat(from).catch(() => null);
  if (found === null) throw new InputError(`${from}: no such file or folder; ${grammar}`);
  return { name, source: { kind: found.isDirectory() ? 'folder' : 'tar', path: from } };
}

/** How to bring an image that no registry gives: the words that every such error ends with. */
export const bringBase = (name: string): string =>
  `passband images base ${name}=DIR|TAR|debootstrap brings it from this machine`;
