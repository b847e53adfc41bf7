// Typed objects and references: what is read is what was written, or is refused by name.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { InputError } from '../../domain/errors.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import type { Step, Upgrades } from '../../store/formats.ts';
import { openRef, putJson, putJsonOnce, readJson, readJsonRef, readRef } from '../../store/objects.ts';
import type { Store } from '../../store/port.ts';

let root: string;
let store: Store;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'passband-objects-'));
  store = openFilesystemStore(root);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const ThingSchema = z.strictObject({
  format: z.literal('passband.thing'),
  version: z.literal(3),
  name: z.string(),
  sizes: z.array(z.int()),
});
const thing = { format: 'passband.thing', version: 3, name: 'one', sizes: [1, 2] } as const;
const putText = (key: string, text: string): Promise<unknown> => store.put(key, Buffer.from(text));
const putThing = (change: object): Promise<unknown> =>
  putText('t.json', JSON.stringify({ ...thing, ...change }));

describe('JSON objects', () => {
  it('come back as they were written, and are written in the order of their schema', async () => {
    const turned = Object.fromEntries(Object.entries(thing).reverse()) as typeof thing;
    const first = await putJson(store, 't.json', ThingSchema, { ...thing, sizes: [1, 2] });
    const second = await putJsonOnce(store, 't.json', ThingSchema, { ...turned, sizes: [1, 2] });
    expect(second).toEqual({ written: false, same: true, ref: first });
    expect(await readJson(store, 't.json', ThingSchema)).toEqual(thing);
    expect(await readJsonRef(store, first, ThingSchema)).toEqual(thing);
  });

  it('are null where there is none', async () => {
    expect(await readJson(store, 'none.json', ThingSchema)).toBeNull();
  });

  it('are not written where they are not of their schema', async () => {
    await expect(putJson(store, 't.json', ThingSchema, { ...thing, sizes: [0.5] })).rejects.toThrow(
      z.ZodError,
    );
    expect(await store.get('t.json')).toBeNull();
  });

  it.each([
    ['half of one', '{"format": "passband.th', /^stored object t\.json is not JSON: [^\n]*$/],
    ['a bare list', '[]', /^stored object t\.json is no passband\.thing object$/],
  ])('refuse %s, naming the key', async (_, text, message) => {
    await putText('t.json', text);
    await expect(readJson(store, 't.json', ThingSchema)).rejects.toThrow(message);
  });

  it.each<[string, object, string]>([
    [
      'another format',
      { format: 'passband.plan' },
      'stored object t.json has format "passband.plan", expected passband.thing',
    ],
    [
      'a newer version',
      { version: 4 },
      'stored object t.json has passband.thing version 4, this passband reads version 3',
    ],
    ['an older version that no step leads on from', { version: 1 }, 'has passband.thing version 1'],
    ['no version', { version: undefined }, 'has passband.thing version undefined'],
    ['a wrong type', { sizes: [1, 'two'] }, 'stored object t.json is not what was written there: sizes.1: '],
    ['a missing and an unknown key', { name: undefined, nmae: 'one' }, '(and 1 more)'],
  ])('refuse %s in one line, naming the key', async (_, change, message) => {
    await putThing(change);
    const refused = readJson(store, 't.json', ThingSchema);
    await expect(refused).rejects.toThrow(InputError);
    await expect(refused).rejects.toThrow(message);
  });

  it('of an older version are brought forward step by step', async () => {
    const upgrades: Upgrades = new Map<number, Step>([
      [1, ({ title, ...rest }) => ({ ...rest, name: title })],
      [2, (older) => ({ ...older, sizes: [] })],
    ]);
    await putText('t.json', JSON.stringify({ format: 'passband.thing', version: 1, title: 'old' }));
    expect(await readJson(store, 't.json', ThingSchema, upgrades)).toEqual({
      ...thing,
      name: 'old',
      sizes: [],
    });
  });
});

describe('references', () => {
  it('give their bytes, whole or as a stream', async () => {
    const ref = await store.putBlob(Buffer.from('content'));
    expect(Buffer.from(await readRef(store, ref)).toString()).toBe('content');
    expect((await buffer(await openRef(store, ref))).toString()).toBe('content');
  });

  it.each([
    ['other bytes', 'c0ntent'],
    ['fewer bytes', 'cont'],
  ])('are not satisfied by %s', async (_, text) => {
    const ref = await store.putBlob(Buffer.from('content'));
    await putText(ref.key, text);
    const refused = {
      failureClass: 'StoreUnavailable',
      message: expect.stringContaining(ref.key) as unknown,
    };
    await expect(readRef(store, ref)).rejects.toMatchObject(refused);
    await expect(buffer(await openRef(store, ref))).rejects.toMatchObject(refused);
  });

  it('to an object that is not there are StoreUnavailable', async () => {
    const ref = { key: 'gone', sha256: '0'.repeat(64), bytes: 1 };
    await expect(readRef(store, ref)).rejects.toMatchObject({ failureClass: 'StoreUnavailable' });
    await expect(openRef(store, ref)).rejects.toMatchObject({ failureClass: 'StoreUnavailable' });
  });
});
