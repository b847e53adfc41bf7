// Entries of an archive from a sandbox, judged by kind before they are laid anywhere: nothing of it is trusted.
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { extract, pack, type Header, type Pack } from 'tar-stream';
import type { RefusedEntry } from '../port.ts';

export interface TarRules {
  /** Null: the entry goes in; text: why it is left out. Asked for entries that are well formed alone. */
  readonly judge?: (path: string, header: Header) => string | null;
  /** setuid and setgid are dropped from regular files, but from those for which this says true. */
  readonly keepsSpecialBits?: (path: string) => boolean;
  /** An entry that would bring the content above this is left out. */
  readonly maxBytes: number;
}

const specialBits = 0o6000;
const laid: ReadonlySet<string> = new Set(['file', 'directory', 'symlink', 'link']);

/**
 * Filters `tar`: yields a tar of the entries that may be laid, and calls `onRefused` for each that may not:
 * absolute, `..` or empty names, devices, FIFOs and whatever else is not a file, directory or link, hard links to
 * what this archive did not lay, names below a link or a file of the same archive, names that come twice, and content
 * over the limit. The result fails where `tar` fails.
 */
export function filterTar(
  tar: Readable,
  rules: TarRules,
  onRefused: (entry: RefusedEntry) => void,
): Readable {
  const output = pack();
  const filter = new Filter(rules, onRefused);
  filter.run(tar, output).then(
    () => output.finalize(),
    (error: unknown) => output.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return Readable.from(output, { objectMode: false });
}

class Filter {
  readonly #rules: TarRules;
  readonly #onRefused: (entry: RefusedEntry) => void;
  /** What was laid, by canonical name. */
  readonly #kinds = new Map<string, string>();
  #bytes = 0;

  constructor(rules: TarRules, onRefused: (entry: RefusedEntry) => void) {
    this.#rules = rules;
    this.#onRefused = onRefused;
  }

  async run(tar: Readable, output: Pack): Promise<void> {
    const entries = extract();
    tar.on('error', (error) => entries.destroy(error));
    tar.pipe(entries);
    for await (const entry of entries) {
      const { header } = entry;
      const path = `/${canonical(header.name)}`;
      const why = this.#refusal(header);
      if (why !== null) {
        this.#onRefused({ path: why === malformed ? header.name : path, why });
        entry.resume();
        continue;
      }
      const loses = header.type === 'file' && this.#rules.keepsSpecialBits?.(path) !== true;
      const written = output.entry({
        ...plain(header),
        mode: loses ? header.mode & ~specialBits : header.mode,
      });
      await new Promise<void>((resolve, reject) => {
        entry.pipe(written, (error) => {
          if (error) reject(error);
          else resolve();
        });
      });
    }
  }

  #refusal(header: Header): string | null {
    const name = canonical(header.name);
    const { type } = header;
    if (header.name.startsWith('/') || hasDots(header.name) || header.name.includes('\0')) return malformed;
    if (!laid.has(type)) return `a ${type.replaceAll('-', ' ')}`;
    if (name === '' && type !== 'directory') return malformed;
    const parent = this.#badParent(name);
    if (parent !== null) return parent;
    const before = this.#kinds.get(name);
    if (before !== undefined && !(before === 'directory' && type === 'directory'))
      return 'a name that comes twice';
    if (type === 'link') {
      // tar-stream gives null, whatever its type says, where the header names nothing.
      const linkname = (header as { readonly linkname: string | null }).linkname ?? '';
      const target = canonical(linkname);
      if (linkname.startsWith('/') || hasDots(linkname) || this.#kinds.get(target) !== 'file')
        return 'a hard link to what the archive did not lay';
    }
    const { size } = header;
    if (this.#bytes + size > this.#rules.maxBytes)
      return `content over the limit of ${this.#rules.maxBytes} bytes`;
    const judged = this.#rules.judge?.(`/${name}`, header) ?? null;
    if (judged !== null) return judged;
    this.#bytes += size;
    this.#kinds.set(name, type === 'link' ? 'file' : type);
    return null;
  }

  /** An archive that lays a link or a file and then something below it means to write through it. */
  #badParent(name: string): string | null {
    for (let at = name.indexOf('/'); at > 0; at = name.indexOf('/', at + 1)) {
      const kind = this.#kinds.get(name.slice(0, at));
      if (kind === 'symlink') return 'a name that goes through a symbolic link';
      if (kind !== undefined && kind !== 'directory') return 'a name below a file';
    }
    return null;
  }
}

/** Without pax records (file capabilities and other attributes travel in them), its time as a header can hold it. */
function plain(header: Header): Header {
  const seconds = Math.min(Math.max(header.mtime.getTime() / 1000, 0), 2 ** 31 - 1);
  return { ...header, pax: null, mtime: new Date(seconds * 1000) };
}

const malformed = 'an absolute name, or one with .. or a zero byte in it';

/** Without `./`, doubled and closing slashes. */
const canonical = (name: string): string =>
  posix.normalize(`/${name}`).replace(/^\/+/, '').replace(/\/+$/, '');

const hasDots = (name: string): boolean => name.split('/').includes('..');
