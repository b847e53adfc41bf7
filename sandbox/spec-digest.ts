// Whether two specs are of one sandbox: the same name with another digest is not ours to adopt.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { SandboxSpec } from './port.ts';

/** Not of the lifetime: workers whose clocks differ ask for the same sandbox. */
export function specDigest(spec: SandboxSpec): string {
  const { name, image, cpus, memoryMiB, diskMiB, pids, workdir, network, baseline, services } = spec;
  const sorted = (record: Readonly<Record<string, string>>) =>
    Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const whole = [
    ...[name, image.digest, cpus, memoryMiB, diskMiB, pids, workdir, network, baseline],
    ...[sorted(spec.labels), sorted(spec.env)],
    ...(services === undefined ? [] : [canonicalize(services)]),
  ];
  return createHash('sha256').update(JSON.stringify(whole)).digest('hex');
}
