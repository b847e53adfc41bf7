// The --store flag that every command takes.
import type { Command } from 'commander';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/port.ts';

export const defaultStore = './passband-results';

export interface StoreOption {
  readonly store?: string;
}

/** Adds --store to a command. */
export function withStore(command: Command): Command {
  return command.option(
    '--store <url>',
    `where results lie: a folder, or s3://bucket/prefix?endpoint=URL (default: PASSBAND_STORE, or ${defaultStore})`,
  );
}

export function storeUrl(options: StoreOption): string {
  return options.store ?? process.env['PASSBAND_STORE'] ?? defaultStore;
}

/** Opens the store, hands it over, and closes it whatever happens. */
export async function useStore<T>(options: StoreOption, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(storeUrl(options), process.env);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
