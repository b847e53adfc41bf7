// Entries of allowed_hosts: host names, `*.` wildcards, IP addresses and CIDR ranges; nothing with a port or a path.
import { isIP } from 'node:net';

const hostName =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** The entry in lower case without a trailing dot; null where it is none of the forms. */
export function normaliseHost(entry: string): string | null {
  const host = entry.trim().toLowerCase().replace(/\.$/, '');
  if (isIP(host) !== 0) return host;
  const slash = host.indexOf('/');
  if (slash >= 0) {
    const family = isIP(host.slice(0, slash));
    const bits = host.slice(slash + 1);
    return family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128) ? host : null;
  }
  const name = host.startsWith('*.') ? host.slice(2) : host;
  // Digits and dots alone would be an address, and it is none: 300.1.1.1, say.
  return hostName.test(name) && !/^[\d.]+$/.test(name) ? host : null;
}
