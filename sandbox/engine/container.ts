// The container of a sandbox, as a pure function of its spec: what it may use, and what it may not do.
import type Docker from 'dockerode';
import { z } from 'zod';
import type { SandboxSpec } from '../port.ts';
import { specDigest } from '../spec-digest.ts';
import type { ImageFacts } from '../supervised/facts.ts';
import { boundsArguments } from '../supervised/bounds.ts';
import { capabilities, supervisorPath } from '../supervised/supervisor.ts';

export const labels = {
  /** Digest of the spec: the same name with another one is not ours to adopt. */
  spec: 'passband.spec',
  /** What a worker that did not create the sandbox must know of its spec, as JSON. */
  facts: 'passband.facts',
} as const;

/** The part of a spec that is kept on the container. */
export const KeptFacts = z.strictObject({
  env: z.record(z.string(), z.string()),
  workdir: z.string(),
  network: z.enum(['deny', 'as-declared']),
  diskMiB: z.number(),
  /** Containers of a version that did not keep it must still be listed and removed. */
  baseline: z.boolean().default(false),
  /** Which labels are the spec's own: those of the image stand among them. */
  labels: z.array(z.string()),
});
export type KeptFacts = z.infer<typeof KeptFacts>;

/** Files a process may open and processes a user may have: both named, an engine that is told one wants both. */
export const ulimits = [
  { Name: 'nofile', Soft: 16_384, Hard: 16_384 },
  { Name: 'nproc', Soft: 16_384, Hard: 16_384 },
];

/** The facts that `containerOf` wrote on a container of ours. */
export function keptFacts(containerLabels: Readonly<Record<string, string>> | null | undefined): KeptFacts {
  return KeptFacts.parse(JSON.parse(containerLabels?.[labels.facts] ?? 'null'));
}

/**
 * What to ask the engine for. PID 1 is the supervisor, as root whatever the image says; the image's user is what its
 * commands get. `storageQuota`: whether the engine's storage can hold the disk limit itself.
 */
export function containerOf(
  spec: SandboxSpec,
  image: ImageFacts,
  storageQuota: boolean,
): Docker.ContainerCreateOptions {
  const workdir = spec.workdir ?? image.workdir;
  const kept: KeptFacts = {
    env: spec.env,
    workdir,
    network: spec.network,
    diskMiB: spec.diskMiB,
    baseline: spec.baseline,
    labels: Object.keys(spec.labels),
  };
  const user = image.user === '' ? [] : ['--user', image.user];
  const memory = Math.round(spec.memoryMiB * 1024 ** 2);
  return {
    name: spec.name,
    Image: spec.image.digest,
    User: '0:0',
    // Made and entered by the supervisor: engines differ over a work directory that is not there.
    WorkingDir: '/',
    Entrypoint: [supervisorPath],
    Cmd: [
      ...['init', '--workdir', workdir, ...user],
      ...boundsArguments(spec),
      ...(spec.baseline ? ['--baseline'] : []),
    ],
    Labels: { ...spec.labels, [labels.spec]: specDigest(spec), [labels.facts]: JSON.stringify(kept) },
    Tty: false,
    OpenStdin: false,
    HostConfig: {
      ...(spec.network === 'deny' ? { NetworkMode: 'none' } : {}),
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Math.round(spec.cpus * 1e9),
      PidsLimit: spec.pids,
      CapDrop: ['ALL'],
      CapAdd: [...capabilities],
      SecurityOpt: ['no-new-privileges'],
      Ulimits: ulimits,
      RestartPolicy: { Name: 'no' },
      Init: false,
      ...(storageQuota ? { StorageOpt: { size: `${Math.round(spec.diskMiB)}M` } } : {}),
    },
  };
}
