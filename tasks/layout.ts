// What a task's folder holds where: the questions that the steps, the images and the checks ask of it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { faultOf } from './disk-faults.ts';
import type { Folder } from './folder.ts';
import { isWithin } from './files.ts';
import type { Findings } from './findings.ts';
import { decodeText } from './text.ts';

export interface Layout {
  readonly folder: Folder;
  /** Whether a file (or a link to one) is at the path. */
  readonly hasFile: (path: string) => boolean;
  /** Whether there is anything below the path. */
  hasDir(path: string): boolean;
  /** Text of a file, null where it is missing or no UTF-8: an error finding says so. */
  readText(path: string, findings: Findings): Promise<string | null>;
}

export function layoutOf(root: string, folder: Folder): Layout {
  const kinds = new Map(folder.files.map((file) => [file.path, file.kind]));
  const hasFile = (path: string): boolean => {
    const kind = kinds.get(path);
    return kind === 'file' || kind === 'symlink';
  };
  return {
    folder,
    hasFile,
    hasDir: (path) => folder.files.some((file) => file.path !== path && isWithin(file.path, path)),
    readText: async (path, findings) => {
      if (!hasFile(path)) {
        findings.error({ file: path }, 'is missing');
        return null;
      }
      try {
        const text = decodeText(await readFile(join(root, path)));
        if (text === null) findings.error({ file: path }, 'is not UTF-8 text');
        return text;
      } catch (error) {
        const fault = faultOf(error);
        if (fault === null) throw error;
        findings.error({ file: path }, fault);
        return null;
      }
    },
  };
}
