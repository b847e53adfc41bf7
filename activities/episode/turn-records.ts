// The turn records of one step's episode: read where they are there, else written once, before anything follows from them.
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { ClassifiedError } from '../../domain/errors.ts';
import { ContextRecordSchema, ObservationRecordSchema, ReplyRecordSchema } from '../../domain/episode.ts';
import { contextKey, observationKey, replyKey } from '../../domain/layout.ts';
import type { Upgrades } from '../../store/formats.ts';
import { putJsonOnce, readJson } from '../../store/objects.ts';
import type { Store } from '../../store/port.ts';
import { replyUpgrades } from '../../store/replies.ts';
import { overtaken } from './ending.ts';

export interface RecordKind<T extends { readonly requestDigest: string }> {
  readonly key: (generation: string, step: number, call: number) => string;
  readonly schema: z.ZodType<T>;
  readonly upgrades?: Upgrades;
}

export const replies = { key: replyKey, schema: ReplyRecordSchema, upgrades: replyUpgrades };
export const observations = { key: observationKey, schema: ObservationRecordSchema };
/** One a step's episode: its ordinal is always 0. */
export const contexts = { key: contextKey, schema: ContextRecordSchema };

/** sha256 of what was asked: a resumed episode that asks something else is a defect of ours. */
export const digestOf = (request: unknown): string =>
  createHash('sha256').update(JSON.stringify(request)).digest('hex');

export class TurnRecords {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #step: number;
  /** Some worker has written here: any record may be there, or come at any time. */
  #shared: boolean;

  private constructor(store: Store, place: { prefix: string; step: number; shared: boolean }) {
    this.#store = store;
    this.#prefix = place.prefix;
    this.#step = place.step;
    this.#shared = place.shared;
  }

  /** Looks once whether any record is there: a new episode asks the store for none of them. */
  static async open(store: Store, prefix: string, step: number): Promise<TurnRecords> {
    const first = replyKey(prefix, step, 0);
    const keys: string[] = [];
    for await (const { key } of store.list(first.slice(0, first.lastIndexOf('/') + 1))) keys.push(key);
    return new TurnRecords(store, { prefix, step, shared: keys.length > 0 });
  }

  /**
   * The record of a call, null where it has not been made.
   * @throws ClassifiedError Unexpected where the record answers another request than this one
   */
  async find<T extends { readonly requestDigest: string }>(
    kind: RecordKind<T>,
    call: number,
    requestDigest: string,
  ): Promise<T | null> {
    const key = kind.key(this.#prefix, this.#step, call);
    if (!this.#shared) return null;
    const record = await readJson(this.#store, key, kind.schema, kind.upgrades);
    if (record !== null && record.requestDigest !== requestDigest) {
      throw new ClassifiedError(
        'Unexpected',
        `${key} answers another request: the episode is not deterministic`,
      );
    }
    return record;
  }

  /**
   * Writes the record of a call, and answers the one that stands: where another worker was first with the same request,
   * its record, from which both go on. What follows is then the same for both, and every keystroke is typed once.
   * @throws ClassifiedError Unexpected where the one that stands answers another request
   */
  async write<T extends { readonly requestDigest: string }>(
    kind: RecordKind<T>,
    call: number,
    record: T,
  ): Promise<T> {
    const key = kind.key(this.#prefix, this.#step, call);
    const { written, same } = await putJsonOnce(this.#store, key, kind.schema, record);
    if (written || same) return record;
    this.#shared = true;
    const standing = await readJson(this.#store, key, kind.schema, kind.upgrades);
    if (standing?.requestDigest !== record.requestDigest) throw overtaken(key);
    return standing;
  }
}
