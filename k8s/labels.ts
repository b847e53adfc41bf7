// Labels and annotations of what this driver makes: what selects is a label, whole values and facts are annotations.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ServiceHealthcheckSchema } from '../domain/services.ts';

/** Keys of our own. */
export const keys = {
  /** `sandbox`, `canary` (which the policy lets out) or `control`. */
  role: 'passband.role',
  /** Digest of the spec: the same name with another one is not ours to adopt. */
  spec: 'passband.spec',
  /** What a worker that did not create the pod must know of its spec and its image, as JSON. */
  facts: 'passband.facts',
  /** The labels as they were given: what does not fit a label is hashed there. */
  labels: 'passband.labels',
  managedBy: 'app.kubernetes.io/managed-by',
} as const;

export type Role = 'sandbox' | 'canary' | 'control';

/** The part of a spec and of its image that is kept on the pod. */
export const KeptFacts = z.strictObject({
  env: z.record(z.string(), z.string()),
  network: z.enum(['deny', 'as-declared']),
  imageDigest: z.string(),
  /** The image's, with the spec's work directory where it names one. */
  image: z.strictObject({ user: z.string(), workdir: z.string(), entrypoint: z.array(z.string()) }),
  volumes: z.array(z.string()),
  baseline: z.boolean(),
  /** The containers beside the sandbox's own; their environments are those of their containers. */
  services: z
    .array(
      z.strictObject({
        name: z.string(),
        container: z.string(),
        imageDigest: z.string(),
        image: z.strictObject({
          user: z.string(),
          workdir: z.string(),
          entrypoint: z.array(z.string()),
          command: z.array(z.string()),
          healthcheck: ServiceHealthcheckSchema.nullable(),
        }),
      }),
    )
    .default([]),
});
export type KeptFacts = z.infer<typeof KeptFacts>;
/** As they are written: a pod of one container says nothing of services. */
export type WrittenFacts = z.input<typeof KeptFacts>;

const fits = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/;

/** A value as a label can carry it: itself where it fits, else its beginning and its hash. At most 63 characters. */
export function labelValue(value: string): string {
  if (fits.test(value)) return value;
  const begin = value
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 40);
  const hash = createHash('sha256').update(value).digest('hex').slice(0, 16);
  return begin === '' ? hash : `${begin}-${hash}`.replace(/-+/g, '-');
}

/** The labels as Kubernetes carries them. */
export function labelsOf(given: Readonly<Record<string, string>>, role: Role | null): Record<string, string> {
  const valid = Object.entries(given).map(([key, value]) => [key, labelValue(value)] as const);
  return {
    ...Object.fromEntries(valid),
    [keys.managedBy]: 'passband',
    ...(role === null ? {} : { [keys.role]: role }),
  };
}

/** Selects what we made with these labels. */
export function selectorOf(wanted: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(wanted).map(([key, value]) => `${key}=${labelValue(value)}`);
  return [`${keys.managedBy}=passband`, ...pairs].join(',');
}

/** The facts that were written on a pod of ours; null where there are none that we can read. */
export const keptFacts = (annotations: Annotations): KeptFacts | null =>
  parsed(KeptFacts, annotations[keys.facts]);

/** The labels that a pod of ours was given; null where it is not one. */
export const givenLabels = (annotations: Annotations): Readonly<Record<string, string>> | null =>
  parsed(z.record(z.string(), z.string()), annotations[keys.labels]);

type Annotations = Readonly<Record<string, string>>;

function parsed<T>(schema: z.ZodType<T>, text: string | undefined): T | null {
  try {
    return schema.parse(JSON.parse(text ?? 'null'));
  } catch {
    // Not a pod of ours, or one of another version: whoever asks says so.
    return null;
  }
}
