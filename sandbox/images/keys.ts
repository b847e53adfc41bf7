// Names of images by what they are made of: the same content, the same name, and nothing is made twice.
import { createHash } from 'node:crypto';
import type { ImageSource } from '../port.ts';

/** 32 hexadecimal digits, fit for a tag. */
export const digestOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

type Build = Extract<ImageSource, { kind: 'build' }>;

const buildKey = ({ digest, dockerfile, offline, target, args }: Build): string =>
  digestOf([
    digest,
    dockerfile,
    offline,
    ...(target === undefined && args === undefined ? [] : [target ?? null, args ?? {}]),
  ]);

/** One key for all who ask for the same image. */
export const sourceKey = (source: ImageSource): string =>
  source.kind === 'build' ? buildKey(source) : digestOf(['prebuilt', source.reference]);
