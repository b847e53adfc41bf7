// What every store must do, whatever it is made of: run on a folder, and on a real S3 server.
import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InputError } from '../../domain/errors.ts';
import { blobKey } from '../../domain/layout.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/port.ts';
import { collect } from '../support/collect.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (body: Uint8Array | null): string | null =>
  body === null ? null : Buffer.from(body).toString();
const sha256 = (body: Uint8Array | string): string => createHash('sha256').update(body).digest('hex');
const writer = path.join(import.meta.dirname, '../support/store-writer.ts');

async function keysOf(store: Store, prefix: string): Promise<string[]> {
  return (await collect(store.list(prefix))).map(({ key }) => key);
}

/** `newLocation` names a store that nothing was ever written to. */
export function describeStore(name: string, newLocation: () => Promise<string>): void {
  describe(name, () => {
    let location: string;
    let store: Store;
    const children: ChildProcess[] = [];

    beforeEach(async () => {
      location = await newLocation();
      store = await openStore(location, process.env);
    });
    afterEach(async () => {
      for (const child of children.splice(0)) child.kill('SIGKILL');
      await store.close();
    });

    /** Starts a writer process; `told` gives the next line that it says. */
    function startWriter(...args: string[]): { child: ChildProcess; told: () => Promise<unknown> } {
      const child = spawn(process.execPath, [writer, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
      children.push(child);
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const told = async (): Promise<unknown> => {
        const line = await lines.next();
        if (line.done === true) throw new Error(`the writer ${args.join(' ')} ended early`);
        return JSON.parse(line.value) as unknown;
      };
      return { child, told };
    }

    it('gives back what was put, with its digest and length', async () => {
      const ref = await store.put('a/b.json', bytes('one'));
      expect(ref).toEqual({ key: 'a/b.json', sha256: sha256('one'), bytes: 3 });
      expect(text(await store.get('a/b.json'))).toBe('one');
      const stream = await store.open('a/b.json');
      expect(stream === null ? null : text(await buffer(stream))).toBe('one');
    });

    it('has nothing under a key that was never put, and nothing under a folder', async () => {
      await store.put('a/b/c', bytes('one'));
      for (const key of ['nothing', 'a/b', 'a/b/c/d', 'a/x']) {
        expect(await store.get(key)).toBeNull();
        expect(await store.open(key)).toBeNull();
      }
      expect(await keysOf(store, 'nothing/')).toEqual([]);
    });

    it('replaces an object whole, by a shorter and by an empty one', async () => {
      await store.put('a', bytes('a long body'));
      await store.put('a', bytes('short'));
      expect(text(await store.get('a'))).toBe('short');
      expect(await store.put('a', new Uint8Array())).toMatchObject({ bytes: 0, sha256: sha256('') });
      expect(text(await store.get('a'))).toBe('');
      const stream = await store.open('a');
      expect(stream === null ? null : text(await buffer(stream))).toBe('');
    });

    it('C86: writes an object once, and says whether a later body is the same', async () => {
      const ref = { key: 'v/verdict.json', sha256: sha256('first'), bytes: 5 };
      expect(await store.putOnce('v/verdict.json', bytes('first'))).toEqual({
        written: true,
        same: true,
        ref,
      });
      expect(await store.putOnce('v/verdict.json', bytes('first'))).toEqual({
        written: false,
        same: true,
        ref,
      });
      expect(await store.putOnce('v/verdict.json', bytes('other'))).toMatchObject({
        written: false,
        same: false,
      });
      expect(text(await store.get('v/verdict.json'))).toBe('first');
    });

    it('lets one of many racing writers write, and shows the others its bytes', async () => {
      const second = await openStore(location, process.env);
      const bodies = Array.from({ length: 12 }, (_, i) => `writer ${i}`);
      const outcomes = await Promise.all(
        bodies.map((body, i) => (i % 2 === 0 ? store : second).putOnce('v/raced', bytes(body))),
      );
      await second.close();
      expect(outcomes.filter(({ written }) => written)).toHaveLength(1);
      expect(text(await store.get('v/raced'))).toBe(bodies[outcomes.findIndex(({ written }) => written)]);
    });

    it('C86: gives each object to one of two racing processes', async () => {
      const racers = [startWriter('race', location, '40'), startWriter('race', location, '40')];
      for (const { told } of racers) expect(await told()).toBe('ready');
      for (const { child } of racers) child.stdin?.write('go\n');
      const told = (await Promise.all(racers.map((racer) => racer.told()))) as {
        pid: number;
        written: string[];
      }[];
      expect(told.flatMap(({ written }) => written).sort()).toEqual(
        Array.from({ length: 40 }, (_, i) => `race/${i}`).sort(),
      );
      for (const { pid, written } of told) {
        for (const key of written) expect(text(await store.get(key))).toBe(`${pid}`);
      }
    });

    it('lists by prefix in the byte order of keys, with their sizes', async () => {
      const ordered = [
        'l/a',
        'l/a-b',
        'l/a.json',
        'l/a/x',
        'l/aa',
        'l/b/1',
        'l/b/10',
        'l/b/2',
        'l/\ufb01',
        'l/\u{1f600}',
      ];
      const files = ordered.filter((key) => key !== 'l/a');
      for (const key of [...files].reverse()) await store.put(key, bytes(key));
      await store.put('m/other', bytes('x'));
      expect(await collect(store.list('l/'))).toEqual(
        files.map((key) => ({ key, bytes: Buffer.byteLength(key) })),
      );
      expect(await keysOf(store, 'l/b/1')).toEqual(['l/b/1', 'l/b/10']);
      expect(await keysOf(store, 'l/a')).toEqual(['l/a-b', 'l/a.json', 'l/a/x', 'l/aa']);
      expect(await keysOf(store, '')).toEqual([...files, 'm/other']);
    });

    it('lists folders right under a prefix without what is in them', async () => {
      for (const key of ['s/one/plan.json', 's/one/t/x', 's/two/plan.json', 's/file', 'r/x']) {
        await store.put(key, bytes('x'));
      }
      expect(await collect(store.listFolders('s/'))).toEqual(['s/one/', 's/two/']);
      expect(await collect(store.listFolders(''))).toEqual(['r/', 's/']);
    });

    it('lists more objects than one page of S3 holds', async () => {
      const keys = Array.from({ length: 1203 }, (_, i) => `many/${String(i).padStart(5, '0')}`);
      for (let i = 0; i < keys.length; i += 64) {
        await Promise.all(keys.slice(i, i + 64).map((key) => store.put(key, bytes('x'))));
      }
      expect(await keysOf(store, 'many/')).toEqual(keys);
    });

    it.each(['a/ü–漢字', 'a/with space', 'a/%41+&=?#', "a/(it's)*!~$@:;,", `a/${'n'.repeat(255)}`])(
      'takes the key %s as it is',
      async (key) => {
        await store.putOnce(key, bytes(key));
        expect(text(await store.get(key))).toBe(key);
        expect(await keysOf(store, 'a/')).toEqual([key]);
      },
    );

    it.each(['', '/a', 'a/', 'a//b', '../a', 'a/../b', './a', 'a\\b', 'a\0b', 'a\nb', '.tmp/a', '\ud800'])(
      'refuses the key %j in every operation',
      async (key) => {
        await expect(store.get(key)).rejects.toThrow(InputError);
        await expect(store.open(key)).rejects.toThrow(InputError);
        await expect(store.put(key, bytes('x'))).rejects.toThrow(InputError);
        await expect(store.putOnce(key, bytes('x'))).rejects.toThrow(InputError);
      },
    );

    it('refuses a prefix that leads out of the store', async () => {
      await expect(keysOf(store, '../')).rejects.toThrow(InputError);
      await expect(keysOf(store, '/')).rejects.toThrow(InputError);
    });

    it('stores a blob under its digest, again and again the same', async () => {
      const expected = { key: blobKey(sha256('content')), sha256: sha256('content'), bytes: 7 };
      expect(await store.putBlob(bytes('content'))).toEqual(expected);
      expect(await store.putBlob(Readable.from([bytes('con'), bytes('tent')]))).toEqual(expected);
      expect(await keysOf(store, '')).toEqual([expected.key]);
      expect(text(await store.get(expected.key))).toBe('content');
      expect(await store.putBlob(Readable.from([]))).toMatchObject({ sha256: sha256(''), bytes: 0 });
      expect(text(await store.get(blobKey(sha256(''))))).toBe('');
    });

    it('C88: stores 192 MiB of unknown length in flat memory, and streams them back whole', async () => {
      const { ref, peakMiB } = (await startWriter('blob', location, '192').told()) as {
        ref: { key: string; sha256: string; bytes: number };
        peakMiB: number;
      };
      expect(ref.bytes).toBe(192 * 1024 ** 2);
      expect(peakMiB).toBeLessThan(260);
      const hash = createHash('sha256');
      const stream = await store.open(ref.key);
      for await (const chunk of stream ?? []) hash.update(chunk as Uint8Array);
      expect(hash.digest('hex')).toBe(ref.sha256);
    });

    it('hands on the error of a blob that breaks off, and stores nothing of it', async () => {
      const broken = new Error('the sandbox went away');
      const body = Readable.from(
        (function* () {
          yield Buffer.alloc(100_000);
          throw broken;
        })(),
      );
      await expect(store.putBlob(body)).rejects.toBe(broken);
      expect(await keysOf(store, '')).toEqual([]);
    });

    it('C85: lists nothing of a blob whose writer was killed in the middle', async () => {
      const { child, told } = startWriter('endless', location);
      expect(await told()).toBe('begun');
      child.kill('SIGKILL');
      await once(child, 'exit');
      expect(await keysOf(store, '')).toEqual([]);
    });

    it('C85: shows an object whole while it is replaced, and after the process that replaced it was killed', async () => {
      const expectWhole = async (): Promise<void> => {
        const body = await store.get('old');
        expect(body?.byteLength).toBe(8_000_000);
        expect(Buffer.alloc(8_000_000, body?.subarray(0, 1)).equals(body ?? Buffer.of())).toBe(true);
      };
      await store.put('old', Buffer.alloc(8_000_000, 'o'));
      for (const reads of [6, 1]) {
        const { child, told } = startWriter('replace', location, 'old');
        expect(await told()).toBe('begun');
        for (let i = 0; i < reads; i += 1) await expectWhole();
        child.kill('SIGKILL');
        await once(child, 'exit');
        await expectWhole();
        expect(await keysOf(store, '')).toEqual(['old']);
      }
    });

    it('frees a stream that nobody reads to its end', async () => {
      await store.put('big', Buffer.alloc(4_000_000));
      for (let i = 0; i < 80; i += 1) {
        const stream = await store.open('big');
        if (i % 2 === 0) for await (const chunk of stream ?? []) if (chunk !== null) break;
        stream?.destroy();
      }
      expect((await store.get('big'))?.byteLength).toBe(4_000_000);
    });

    it('passes its own check, twice', async () => {
      await store.check();
      await store.check();
    });
  });
}
