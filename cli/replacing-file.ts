// A file that is there whole or not at all: written beside its name, and moved to it at the end.
import { open, rename, rm } from 'node:fs/promises';
import { InputError } from '../domain/errors.ts';

export interface ReplacingFile {
  write(text: string): Promise<void>;
  /** Puts the file under its name. */
  keep(): Promise<void>;
  /** Leaves what was there as it was, and what was written beside it. Answers where that lies. */
  keepPart(): Promise<string>;
  /** Leaves what was there as it was. */
  discard(): Promise<void>;
}

/** @throws InputError where the folder cannot be written */
export async function openReplacingFile(file: string): Promise<ReplacingFile> {
  const beside = `${file}.${process.pid}.partial`;
  const handle = await open(beside, 'w').catch((error: unknown) => {
    throw new InputError(
      `--out ${file}: cannot be written (${error instanceof Error ? error.message : String(error)})`,
    );
  });
  const close = async (name: string): Promise<string> => {
    await handle.sync();
    await handle.close();
    await rename(beside, name);
    return name;
  };
  return {
    write: async (text) => {
      await handle.appendFile(text);
    },
    keep: async () => {
      await close(file);
    },
    keepPart: () => close(`${file}.partial`),
    discard: async () => {
      await handle.close();
      await rm(beside, { force: true });
    },
  };
}
