// A store on a file system of its own that the command alone sees: read-only, or too small.
import path from 'node:path';
import { root } from './passband.ts';

/**
 * The CLI with a tmpfs at the store's folder, in a mount namespace that ends with it. `options` are those of mount;
 * `before` is run in it first.
 */
export function onMount(store: string, options: string, before = ':'): readonly [string, ...string[]] {
  const mounted = `mkdir -p ${store} && mount -t tmpfs -o ${options} tmpfs ${store}`;
  const script = `${mounted} && { ${before}; } && exec "$@"`;
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const cli = [process.execPath, path.join(root, 'cli/main.ts')];
  return ['unshare', ...user, '--mount', 'sh', '-euc', script, 'sh', ...cli];
}

/** The store as the command with that process id sees it. */
export const seenBy = (pid: number, store: string): string => path.join(`/proc/${pid}/root`, store);
