// The --store flag that every command takes.
import type { Command } from 'commander';
import { openStore, openWrittenStore } from '../store/open.ts';
import type { Store } from '../store/port.ts';
import { flagText } from './output.ts';

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

/** A command for a person to paste: on the store that this one was given. */
export const commandText = (command: string, { store }: StoreOption): string =>
  `passband ${command}${flagText('--store', store)}`;

/** Opens the store, hands it over, and closes it whatever happens. */
export async function useStore<T>(options: StoreOption, work: (store: Store) => Promise<T>): Promise<T> {
  return await closing(await openStore(storeUrl(options), process.env), work);
}

/** The same for what is only read. @throws InputError where there is no store. */
export async function readStore<T>(options: StoreOption, work: (store: Store) => Promise<T>): Promise<T> {
  return await closing(await openWrittenStore(storeUrl(options), process.env), work);
}

async function closing<T>(store: Store, work: (store: Store) => Promise<T>): Promise<T> {
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
