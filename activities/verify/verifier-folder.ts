// /logs/verifier: made anew before the tests, read with everything ended or frozen after them.
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ClassifiedError } from '../../domain/errors.ts';
import type { Ref } from '../../domain/refs.ts';
import { assertionBounds } from '../../tasks/assertions.ts';
import type { Sandbox } from '../../sandbox/port.ts';
import { readArchive, smallArchive, type SmallEntry } from '../archives.ts';
import type { World } from '../world.ts';

const folder = '/logs/verifier';
/** Of everything that a verifier wrote; its reward files are asked for by name where there is more. */
const outputLimitBytes = 32 * 1024 ** 2;
/** Over the bound of each reader, so that a file that is too long is seen to be. */
const fileLimitBytes = assertionBounds.fileBytes + 1;
const rewardFiles = ['reward.json', 'reward.txt', 'ctrf.json'] as const;

/** Removes what is there, a link too, and makes the folder anew, with these files in it. */
export async function makeVerifierFolder(
  sandbox: Sandbox,
  files: Readonly<Record<string, string>> = {},
): Promise<void> {
  const entries: SmallEntry[] = [
    { name: 'logs/', mode: 0o777, content: null },
    { name: 'logs/verifier/', mode: 0o777, content: null },
    ...Object.entries(files).map(([name, content]) => ({
      name: `logs/verifier/${name}`,
      mode: 0o666,
      content,
    })),
  ];
  const lay = () => sandbox.putFiles(() => smallArchive(entries), { dir: '/', replace: false, owner: null });
  await sandbox.removePaths([folder]);
  if ((await lay()).refused.length === 0) return;
  // /logs itself is a link, or a file: it makes way.
  await sandbox.removePaths(['/logs']);
  const { refused } = await lay();
  const [first] = refused;
  if (first !== undefined) throw new ClassifiedError('ExecBroken', `${folder} cannot be made: ${first.why}`);
}

export interface VerifierOutput {
  /** Regular files by their path inside the folder. Links and the like are none. */
  readonly files: ReadonlyMap<string, Buffer>;
  readonly output: Ref;
  readonly warnings: readonly string[];
}

/** Reads the folder and keeps all of it in the store. */
export async function readVerifierFolder(world: World, sandbox: Sandbox): Promise<VerifierOutput> {
  const { archive, truncated } = await fetch(sandbox, [folder]);
  const output = await world.store.putBlob(archive);
  const files = await filesOf(archive);
  if (!truncated) return { files, output, warnings: [] };
  const named = await fetch(
    sandbox,
    rewardFiles.map((name) => `${folder}/${name}`),
  );
  return {
    files: new Map([...files, ...(await filesOf(named.archive))]),
    output,
    warnings: [`${folder} holds more than ${outputLimitBytes} bytes: not all of it is kept`],
  };
}

/** The files alone, without keeping them. */
export async function peekVerifierFolder(sandbox: Sandbox): Promise<ReadonlyMap<string, Buffer>> {
  return filesOf((await fetch(sandbox, [folder])).archive);
}

async function fetch(
  sandbox: Sandbox,
  paths: readonly string[],
): Promise<{ readonly archive: Buffer; readonly truncated: boolean }> {
  let archive: Buffer = Buffer.alloc(0);
  const { truncated } = await sandbox.getFiles({ paths, maxBytes: outputLimitBytes }, async (tar) => {
    archive = await buffer(tar);
  });
  return { archive, truncated };
}

async function filesOf(archive: Buffer): Promise<Map<string, Buffer>> {
  const files = await readArchive(Readable.from([archive]), fileLimitBytes);
  return new Map(
    [...files].flatMap(([path, content]) =>
      path.startsWith(`${folder}/`) ? [[path.slice(folder.length + 1), content] as const] : [],
    ),
  );
}
