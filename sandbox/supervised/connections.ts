// The connections of one sandbox: one is kept and reused, more are opened while it is busy, a broken one is replaced.
import { ClassifiedError } from '../../domain/errors.ts';
import type { MemoryEnds } from '../../domain/verdict.ts';
import { Connection } from '../protocol/connection.ts';
import { ConnectionLost } from '../protocol/frames.ts';
import { Forged } from '../protocol/voice.ts';
import type { Link, StreamEnding, SupervisorStream } from './link.ts';

/** Each takes a process of the sandbox; whoever comes later waits. */
const maxConnections = 8;

/** A connection was lost because of what runs in the sandbox: it ended our process there, took its program or spoke in its place. */
export class ConnectionEnded extends ConnectionLost {
  constructor(ending: StreamEnding, cause: unknown) {
    super(ending.message, { cause });
    this.name = 'ConnectionEnded';
  }
}

interface Member {
  readonly connection: Connection;
  readonly origin: SupervisorStream;
}

export class Connections {
  readonly #link: Link;
  readonly #idle: Member[] = [];
  readonly #all = new Set<Member>();
  readonly #waiting: (() => void)[] = [];
  #opening = 0;
  #closed = false;
  #bootId: string | null;
  #memoryEnds: MemoryEnds | null = null;

  /** `bootId` null: that of the first connection becomes the one that all others must have. */
  constructor(link: Link, bootId: string | null) {
    this.#link = link;
    this.#bootId = bootId;
  }

  /** The bootId of PID 1; known once a connection was open. */
  get bootId(): string | null {
    return this.#bootId;
  }

  /** As PID 1 tells it; known once a connection was open, null also where its cgroup does not say. */
  get memoryEnds(): MemoryEnds | null {
    return this.#memoryEnds;
  }

  /** Runs `exchange` on a connection of its own; ConnectionLost where that broke, with what the driver knows of it. */
  async use<T>(exchange: (connection: Connection) => Promise<T>): Promise<T> {
    const member = await this.#acquire();
    try {
      return await exchange(member.connection);
    } catch (error) {
      if (error instanceof ConnectionLost) this.#dropIdle();
      throw await explained(error, member.origin);
    } finally {
      this.#release(member);
    }
  }

  close(): void {
    this.#closed = true;
    for (const { connection } of this.#all) connection.close();
    this.#all.clear();
    this.#idle.length = 0;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #acquire(): Promise<Member> {
    for (;;) {
      if (this.#closed) throw new ClassifiedError('ExecBroken', 'the sandbox was closed by its user');
      const idle = this.#idle.pop();
      if (idle?.connection.usable === true) return idle;
      if (idle !== undefined) this.#all.delete(idle);
      else if (this.#all.size + this.#opening < maxConnections) return this.#open();
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #release(member: Member): void {
    if (member.connection.usable && !this.#closed) this.#idle.push(member);
    else this.#all.delete(member);
    this.#waiting.shift()?.();
  }

  /** They came by the way that was lost: one that went silent says so only after the time that it is waited for. */
  #dropIdle(): void {
    for (const member of this.#idle.splice(0)) {
      member.connection.close();
      this.#all.delete(member);
    }
  }

  async #open(): Promise<Member> {
    this.#opening += 1;
    try {
      const origin = await this.#link.openStream();
      const connection = new Connection(origin.stream, this.#bootId);
      try {
        const { bootId, memoryEnds } = await connection.greet();
        this.#bootId ??= bootId;
        if (bootId !== this.#bootId) throw new Forged();
        this.#memoryEnds = memoryEnds;
      } catch (error) {
        connection.close();
        throw await explained(error, origin);
      }
      if (this.#closed) {
        connection.close();
        throw new ClassifiedError('ExecBroken', 'the sandbox was closed by its user');
      }
      const member = { connection, origin };
      this.#all.add(member);
      return member;
    } catch (error) {
      // The place that this one leaves is for whoever waits for one.
      this.#waiting.shift()?.();
      throw error;
    } finally {
      this.#opening -= 1;
    }
  }
}

async function explained(error: unknown, origin: SupervisorStream): Promise<unknown> {
  if (!(error instanceof ConnectionLost)) return error;
  // No cut and no node makes a whole frame with another signature, and where the driver knows of no restart it is not
  // that of a new PID 1.
  if (error instanceof Forged) return new ConnectionEnded({ by: 'inside', message: error.message }, error);
  const ending = await origin.ending();
  if (ending.by === 'inside') return new ConnectionEnded(ending, error);
  return ending.message === ''
    ? error
    : new ConnectionLost(`${error.message} (${ending.message})`, { cause: error });
}
