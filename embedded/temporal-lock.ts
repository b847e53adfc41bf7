// One embedded server a folder: a lock file that names its owner, its server and the address to join it at.
import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { InputError } from '../domain/errors.ts';
import { identityOf, isAlive, ProcessIdentitySchema, type ProcessIdentity } from './process-identity.ts';

const LockSchema = z.strictObject({
  format: z.literal('passband.temporal-lock'),
  version: z.literal(1),
  owner: ProcessIdentitySchema,
  /** Null until the server runs. */
  server: ProcessIdentitySchema.nullable(),
  address: z.string(),
});
type Lock = z.infer<typeof LockSchema>;

/** How long a server whose owner died may take to end. */
const orphanMs = 10_000;

export interface HeldLock {
  /** Names the server in the lock. */
  serverStarted(pid: number, address: string): Promise<void>;
  release(): Promise<void>;
}

/**
 * Takes the lock. One whose owner is dead is taken over, and the server that it left behind is ended first.
 * @throws InputError (exit 69) where a living owner has it: its address stands in the message.
 */
export async function takeLock(file: string): Promise<HeldLock> {
  for (;;) {
    const mine: Lock = {
      format: 'passband.temporal-lock',
      version: 1,
      owner: identityOf(process.pid),
      server: null,
      address: '',
    };
    if (await writeOnce(file, mine)) return heldLock(file, mine);
    const theirs = await readLock(file);
    if (theirs === null) continue;
    if (theirs.lock !== null && isAlive(theirs.lock.owner)) throw lockedError(file, theirs.lock);
    if (theirs.lock?.server) await endOrphan(theirs.lock.server);
    await removeStale(file, theirs.text);
  }
}

function lockedError(file: string, { owner, address }: Lock): InputError {
  return new InputError(
    address === ''
      ? `process ${owner.pid} is starting the embedded Temporal server (${file}): wait a moment and run this again`
      : `process ${owner.pid} runs the embedded Temporal server of this folder (${file}): join it with --temporal ${address}`,
    69,
  );
}

function heldLock(file: string, mine: Lock): HeldLock {
  return {
    serverStarted: async (pid, address) => {
      const temporary = `${file}.${randomUUID()}`;
      await writeFile(temporary, JSON.stringify({ ...mine, server: identityOf(pid), address }));
      await rename(temporary, file);
    },
    release: () => rm(file, { force: true }),
  };
}

/** False where the file is there already. The file appears whole: a reader never sees half of it. */
async function writeOnce(file: string, lock: Lock): Promise<boolean> {
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, JSON.stringify(lock));
  try {
    await link(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Null where there is none any more; a lock that cannot be read counts as nobody's. */
async function readLock(file: string): Promise<{ readonly text: string; readonly lock: Lock | null } | null> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return { text, lock: LockSchema.parse(JSON.parse(text)) };
  } catch {
    return { text, lock: null };
  }
}

/** Removes the lock that was read. One that another process has put there since is put back. */
async function removeStale(file: string, text: string): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
    if ((await readFile(aside, 'utf8')) !== text) await link(aside, file);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** Ends a server whose owner is dead: politely, then by force. Two that do this at once do no harm. */
async function endOrphan(server: ProcessIdentity): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!isAlive(server)) return;
    try {
      process.kill(server.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return;
      throw error;
    }
    const deadline = performance.now() + orphanMs;
    while (isAlive(server) && performance.now() < deadline) await sleep(50);
  }
}

/** Address of the server that the lock's living owner runs; null where none does. */
export async function readAddress(file: string): Promise<string | null> {
  const held = await readLock(file);
  if (held === null || held.lock === null || held.lock.address === '' || !isAlive(held.lock.owner))
    return null;
  return held.lock.address;
}
