// Amounts as a compose file writes them: durations, bytes, CPUs, ports.
import type { ServicePort } from '../../domain/services.ts';

const unitSec: Readonly<Record<string, number>> = { us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of `1m30s`, `500ms`; a bare 0 is 0. Null where it is no duration. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim();
  if (trimmed === '0') return 0;
  const parts = [...trimmed.matchAll(/(\d+(?:\.\d+)?)(us|ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== trimmed) return null;
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitSec[unit ?? ''] ?? 0), 0);
}

const factor: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
  t: 1024 ** 4,
};

/** MiB of `512m`, `1gb`, `2Gi`, or of a number of bytes; null where it is no amount above 0. */
export function parseBytesAsMiB(value: string | number): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([bkmgt]?)i?b?$/i.exec(String(value).trim());
  if (match === null) return null;
  const bytes = Number(match[1]) * (factor[(match[2] ?? '').toLowerCase()] ?? 1);
  return Number.isFinite(bytes) && bytes > 0 ? bytes / 1024 ** 2 : null;
}

/** Cores; null where it is no number above 0. */
export function parseCores(value: string | number): number | null {
  const cores = typeof value === 'number' ? value : /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : NaN;
  return Number.isFinite(cores) && cores > 0 ? cores : null;
}

/** Container ports of `8080`, `8080:80`, `127.0.0.1:53:53/udp`, `9000-9002`; null where it is none of these. */
export function parsePorts(text: string): ServicePort[] | null {
  const match = /^(?:.*:)?(\d+)(?:-(\d+))?(?:\/(tcp|udp|sctp))?$/i.exec(text.trim());
  if (match === null) return null;
  const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
  if (first < 1 || last > 65_535 || last < first || last - first > 1024) return null;
  const protocol = (match[3] ?? 'tcp').toLowerCase() as ServicePort['protocol'];
  return Array.from({ length: last - first + 1 }, (_, at) => ({ port: first + at, protocol }));
}
