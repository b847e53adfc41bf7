// The sandbox port over a supervisor's connections: the same for every driver, which supplies a Link alone.
import type { Readable } from 'node:stream';
import type { NetworkProof } from '../../domain/network.ts';
import type { Artifact } from '../../domain/task.ts';
import type { MemoryEnds } from '../../domain/verdict.ts';
import type { Connection } from '../protocol/connection.ts';
import { EmptyResponse, UsageResponse } from '../protocol/responses.ts';
import { BootId } from '../protocol/voice.ts';
import type { EgressSurvey } from '../egress.ts';
import {
  SandboxGone,
  type Command,
  type CommandResult,
  type GetOptions,
  type GetResult,
  type PutOptions,
  type Sandbox,
  type SandboxIdentity,
  type SandboxState,
  type SandboxUsage,
  type TakenDelta,
  type TerminalOptions,
  type TerminalSession,
  type Transfer,
} from '../port.ts';
import { awaitBaseline } from './changes.ts';
import { killCommand, runCommand, startCommand } from './commands.ts';
import { Connections } from './connections.ts';
import { takeArtifacts, takeDelta } from './delta.ts';
import type { SandboxFacts } from './facts.ts';
import { getFiles, listNames, putFiles, removePaths } from './files.ts';
import type { Link } from './link.ts';
import { proveNetwork } from './network.ts';
import { recovering } from './recovery.ts';
import type { Supervised } from './supervised.ts';
import { openTerminal } from './terminal.ts';

export interface Attaching {
  /** Told when its user has closed it. */
  readonly onClose?: (sandbox: Sandbox) => void;
  /** The services beside it, which are closed with it. */
  readonly services?: ReadonlyMap<string, Sandbox>;
}

/**
 * Connects to a sandbox that runs. `bootId`: that of the supervisor it must find there (a part of the identity's),
 * null where the one that answers becomes the sandbox's.
 */
export async function attach(
  link: Link,
  facts: SandboxFacts,
  identity: Omit<SandboxIdentity, 'bootId'> & { readonly bootId: string | null },
  attaching: Attaching = {},
): Promise<SupervisedSandbox> {
  const bootId = identity.bootId === null ? null : bootOf(identity.bootId).supervisor;
  if (bootId !== null && !BootId.safeParse(bootId).success) {
    throw new SandboxGone({ kind: 'replaced', reason: 'its supervisor is of a version that signs nothing' });
  }
  const connections = new Connections(link, bootId);
  try {
    await recovering({ link, connections }, 'connecting', () => Promise.resolve());
    if (facts.baseline) await awaitBaseline({ link, connections });
  } catch (error) {
    connections.close();
    throw error;
  }
  const whole = { ...identity, bootId: `${link.startedAt}/${connections.bootId ?? ''}` };
  return new SupervisedSandbox({ link, connections, facts }, whole, attaching);
}

/** The two halves of an identity's bootId: the driver's word for the start, and the supervisor's own. */
export function bootOf(bootId: string): { readonly startedAt: string; readonly supervisor: string } {
  const at = bootId.lastIndexOf('/');
  return { startedAt: bootId.slice(0, at), supervisor: bootId.slice(at + 1) };
}

export class SupervisedSandbox implements Sandbox {
  readonly identity: SandboxIdentity;
  readonly services: ReadonlyMap<string, Sandbox>;
  readonly #supervised: Supervised;
  readonly #onClose: (sandbox: Sandbox) => void;

  constructor(
    supervised: Supervised,
    identity: SandboxIdentity,
    { onClose = () => undefined, services = new Map() }: Attaching,
  ) {
    this.#supervised = supervised;
    this.identity = identity;
    this.services = services;
    this.#onClose = onClose;
  }

  get image(): Sandbox['image'] {
    return this.#supervised.facts.image;
  }

  get memoryEnds(): MemoryEnds | null {
    return this.#supervised.connections.memoryEnds;
  }

  run(command: Command, signal?: AbortSignal): Promise<CommandResult> {
    return runCommand(this.#supervised, command, signal);
  }

  start(command: Omit<Command, 'stdin' | 'timeoutMs'>): Promise<void> {
    return startCommand(this.#supervised, command);
  }

  kill(id: string): Promise<void> {
    return killCommand(this.#supervised, id);
  }

  putFiles(tar: () => Readable, options: PutOptions): Promise<Transfer> {
    return putFiles(this.#supervised, tar, options);
  }

  getFiles(options: GetOptions, sink: (tar: Readable) => Promise<void>): Promise<GetResult> {
    return getFiles(this.#supervised, options, sink);
  }

  removePaths(paths: readonly string[]): Promise<void> {
    return removePaths(this.#supervised, paths);
  }

  listNames(dirs: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return listNames(this.#supervised, dirs);
  }

  pause(): Promise<void> {
    return this.#tell('freeze');
  }

  resume(): Promise<void> {
    return this.#tell('thaw');
  }

  endProcesses(): Promise<void> {
    return this.#tell('end');
  }

  terminal(options: TerminalOptions): Promise<TerminalSession> {
    return openTerminal(this.#supervised, options);
  }

  takeDelta(limitBytes: number, sink: (tar: Readable) => Promise<void>): Promise<TakenDelta> {
    return takeDelta(this.#supervised, limitBytes, sink);
  }

  takeArtifacts(
    artifacts: readonly Artifact[],
    limitBytes: number,
    sink: (tar: Readable) => Promise<void>,
  ): Promise<TakenDelta> {
    return takeArtifacts(this.#supervised, artifacts, { limitBytes, sink });
  }

  proveNetwork(
    survey: EgressSurvey,
    options: { readonly settleMs: number; readonly signal?: AbortSignal },
  ): Promise<NetworkProof> {
    return proveNetwork(this.#supervised, survey, options);
  }

  async usage(): Promise<SandboxUsage> {
    const ask = (connection: Connection) =>
      connection.exchange({ request: { op: 'usage' }, response: UsageResponse });
    const [inside, diskBytes] = await Promise.all([
      recovering(this.#supervised, 'usage', ask),
      this.#supervised.link.diskBytes(),
    ]);
    const { oomKills, memoryPeakBytes } = inside.response;
    return { oomKills, memoryPeakBytes, diskBytes };
  }

  state(): Promise<SandboxState> {
    return this.#supervised.link.state();
  }

  async close(): Promise<void> {
    this.#supervised.connections.close();
    for (const service of this.services.values()) await service.close();
    this.#onClose(this);
  }

  async #tell(op: 'freeze' | 'thaw' | 'end'): Promise<void> {
    await recovering(this.#supervised, op, (connection) =>
      connection.exchange({ request: { op }, response: EmptyResponse }),
    );
  }
}
