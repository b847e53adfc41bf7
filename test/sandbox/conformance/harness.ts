// What the conformance suite asks of a driver's test file, and the small tools that its parts share.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract, pack, type Header } from 'tar-stream';
import type { Image } from '../../../domain/gate.ts';
import type { CommandResult, Sandbox, SandboxDriver, SandboxSpec } from '../../../sandbox/port.ts';

/** `debian`: bash and GNU tools. `busybox`: nothing but busybox, no tar by that name. `user`: USER app (1000). */
export type ImageKind = 'debian' | 'busybox' | 'user' | 'volume';

/** What one platform can do to a single sandbox and another cannot: known before any test runs. */
export interface Platform {
  /** It can start PID 1 of a sandbox anew (Harness.outside.restart). */
  readonly restarts: boolean;
  /** It limits the processes of one sandbox. Those of a pod are its node's to limit. */
  readonly limitsPids: boolean;
  /** An /etc/passwd that links to itself keeps new connections out; one that is a directory does everywhere. */
  readonly followsAccounts: boolean;
  /** What runs out of memory: one process, or the sandbox whole (kubelets with cgroup v2 and no singleProcessOOMKill). */
  readonly memoryEnds: 'process' | 'sandbox';
  /** A user of the task that is not root may become root by setuid: sudo works. */
  readonly setuidGains: boolean;
  /** How long it takes at most until a sandbox over its disk limit is ended. */
  readonly diskNoticeMs: number;
}

export interface Harness {
  readonly driver: SandboxDriver;
  /** The same driver as another worker has it, with no connection in common. */
  readonly otherDriver: SandboxDriver;
  image(kind: ImageKind): Promise<Image>;
  readonly outside: {
    /** Cuts every stream of `driver`, now or when so many bytes have passed. */
    cut(afterBytes?: number): void;
    /** Ends PID 1 from outside. */
    kill(name: string): Promise<void>;
    /** Deletes what runs the sandbox. */
    delete(name: string): Promise<void>;
    /** Starts PID 1 anew; null where the platform never does. */
    readonly restart: ((name: string) => Promise<void>) | null;
    /** Deletes it, and makes something else of the same name. */
    replace(name: string): Promise<void>;
    /** Makes the platform silent until `back` is called. */
    vanish(): { back(): void };
  };
  close(): Promise<void>;
}

let made = 0;

/** A spec of its own for each call; small enough that many fit. */
export async function specOf(
  harness: Pick<Harness, 'image'>,
  kind: ImageKind = 'debian',
  change: Partial<SandboxSpec> = {},
): Promise<SandboxSpec> {
  made += 1;
  return {
    name: `pb-conf-${process.pid}-${made}`,
    image: await harness.image(kind),
    labels: { 'passband.test': `conformance-${process.pid}` },
    cpus: 2,
    memoryMiB: 512,
    diskMiB: 4096,
    pids: 256,
    env: {},
    workdir: null,
    network: 'deny',
    baseline: true,
    lifetimeSec: 3_600,
    ...change,
  };
}

/** Runs `use` with a sandbox that is gone afterwards. */
export async function withSandbox<T>(
  harness: Harness,
  kind: ImageKind,
  use: (sandbox: Sandbox, spec: SandboxSpec) => Promise<T>,
  change: Partial<SandboxSpec> = {},
): Promise<T> {
  const spec = await specOf(harness, kind, change);
  const sandbox = await harness.driver.create(spec);
  try {
    return await use(sandbox, spec);
  } finally {
    await harness.driver.destroy(spec.name);
  }
}

let commands = 0;

/** Runs a shell script; its result, output as text. */
export async function sh(
  sandbox: Sandbox,
  script: string,
  more: { timeoutMs?: number; user?: string | number } = {},
): Promise<{ exitCode: number; out: string; err: string; result: CommandResult }> {
  commands += 1;
  const result = await sandbox.run({
    id: `sh-${process.pid}-${commands}`,
    argv: ['/bin/sh', '-c', script],
    timeoutMs: more.timeoutMs ?? 60_000,
    ...(more.user === undefined ? {} : { user: more.user }),
  });
  return {
    exitCode: result.exitCode,
    out: Buffer.from(result.stdout).toString('utf8'),
    err: Buffer.from(result.stderr).toString('utf8'),
    result,
  };
}

export interface Entry {
  readonly header: Partial<Header> & { readonly name: string };
  readonly content?: Buffer | string;
}

export function tarOf(entries: readonly Entry[]): Readable {
  const tar = pack();
  const feed = async (): Promise<void> => {
    for (const { header, content } of entries) {
      await new Promise<void>((resolve, reject) => {
        tar.entry(header, content ?? '', (error) => {
          if (error) reject(error);
          else resolve();
        });
      });
    }
    tar.finalize();
  };
  feed().catch((error: unknown) => tar.destroy(error instanceof Error ? error : null));
  return Readable.from(tar, { objectMode: false });
}

export interface Read {
  readonly header: Header;
  readonly content: Buffer;
}

/** Reads a tar whole, by name. */
export async function readTar(tar: Readable): Promise<Map<string, Read>> {
  const found = new Map<string, Read>();
  const entries = extract();
  tar.on('error', (error) => entries.destroy(error));
  tar.pipe(entries);
  for await (const entry of entries) {
    found.set(entry.header.name, { header: entry.header, content: await buffer(entry) });
  }
  return found;
}

/** Bytes of a length that look like nothing in particular, the same for the same seed. */
export function noise(bytes: number, seed: number): Buffer {
  const block = Buffer.alloc(1024 ** 2);
  let state = seed;
  for (let at = 0; at < block.length; at += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    block.writeUInt32LE(state, at);
  }
  return Buffer.concat(
    Array.from({ length: Math.ceil(bytes / block.length) }, () => block),
    bytes,
  );
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
