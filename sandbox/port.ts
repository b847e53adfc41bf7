// The sandbox port: the machine that one phase of a trial runs in. Every driver passes test/sandbox/conformance.
import type { Readable } from 'node:stream';
import type { DeltaManifest } from '../domain/delta.ts';
import type { Image } from '../domain/gate.ts';
import type { NetworkProof } from '../domain/network.ts';
import type { Observation, TerminalAction } from '../domain/ports.ts';
import type { ServiceHealthcheck } from '../domain/services.ts';
import type { Artifact, Task, User } from '../domain/task.ts';
import type { MemoryEnds } from '../domain/verdict.ts';
import type { SandboxServices } from './services/spec.ts';
import type { EgressSurvey, SurveyRequest } from './egress.ts';

/** Everything that decides a sandbox. Same name and same spec: the same sandbox, adopted and not doubled. */
export interface SandboxSpec {
  /** Derived from (sweep, trial, generation, phase): at most 63 characters of [a-z0-9-]. */
  readonly name: string;
  readonly image: Image;
  /** Kept on the container or pod, for adoption, listing and sweeping. */
  readonly labels: Readonly<Record<string, string>>;
  readonly cpus: number;
  readonly memoryMiB: number;
  readonly diskMiB: number;
  readonly pids: number;
  /** Added to the image's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: the image's. */
  readonly workdir: string | null;
  readonly network: 'deny' | 'as-declared';
  /** The difference of its file system will be taken: PID 1 walks the image's root as it begins. */
  readonly baseline: boolean;
  /** Seconds after which nobody can want it any more: a driver that can ends it then by itself. */
  readonly lifetimeSec: number;
  /** Containers beside its own, for a task of several; absent: it is one. */
  readonly services?: SandboxServices;
}

export interface SandboxIdentity {
  readonly name: string;
  readonly driver: string;
  /** Container id or pod uid. */
  readonly uid: string;
  readonly host: string;
  readonly imageDigest: string;
  /** Changes whenever PID 1 starts anew. */
  readonly bootId: string;
}

export type SandboxState =
  | { readonly kind: 'alive' }
  /** PID 1 started anew, or another container has the name: what the episode did is not there. */
  | { readonly kind: 'restarted' | 'replaced'; readonly reason: string }
  /** `cause`: `self` what runs inside ended it (its processes, its memory, its disk), `platform` anything else. */
  | {
      readonly kind: 'gone';
      readonly cause: 'self' | 'platform';
      readonly why: 'exited' | 'oom' | 'disk' | 'deleted' | 'evicted' | 'host-lost';
      readonly reason: string;
    };

/**
 * Thrown by every operation of a sandbox that is not there as it was. The driver has looked at the state:
 * it is never `alive`. What cannot be told apart from a broken connection is a ClassifiedError `ExecBroken`,
 * an engine that does not answer is `PlatformUnavailable`.
 */
export class SandboxGone extends Error {
  readonly state: Exclude<SandboxState, { kind: 'alive' }>;

  constructor(state: Exclude<SandboxState, { kind: 'alive' }>) {
    super(state.reason);
    this.name = 'SandboxGone';
    this.state = state;
  }
}

/** An archive entry that may not be laid: refused by kind, never followed. */
export interface RefusedEntry {
  readonly path: string;
  readonly why: string;
}

export interface Command {
  /** Started once under this id, asked for by it after a cut or by another worker. */
  readonly id: string;
  readonly argv: readonly string[];
  readonly stdin?: Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  /** `image`: the image's environment alone, without the sandbox's and without LD_*, BASH_ENV, PYTHON*. */
  readonly envBase?: 'sandbox' | 'image';
  readonly cwd?: string;
  /**
   * Asked for by an agent that has been at work here: whatever keeps it from starting may be that agent's doing. It
   * starts in / where its directory is not to be had, and ends with 126 where it cannot start at all.
   */
  readonly byAgent?: boolean;
  /** Null: the image's user. */
  readonly user?: User;
  /** When it passes, the whole process tree is killed inside. Null: no limit. */
  readonly timeoutMs: number | null;
  /** Bytes kept of each stream: the first half and the last half. Default 1 MiB. */
  readonly outputLimitBytes?: number;
  /** Both streams into this file as well, whole up to 64 MiB. */
  readonly outputFile?: string;
}

export interface CommandResult {
  /** Exit status of the command, 128 + signal where a signal ended it. Never guessed. */
  readonly exitCode: number;
  readonly signal: number | null;
  readonly timedOut: boolean;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Bytes left out between the halves. */
  readonly stdoutOmitted: number;
  readonly stderrOmitted: number;
  readonly wallMs: number;
}

export interface PutOptions {
  /** Absolute directory that the archive's entries are laid in. */
  readonly dir: string;
  /** What stands at `dir` (a link too) is removed first, and a fresh directory made. */
  readonly replace: boolean;
  /** Owner of everything laid; null: as the archive says. */
  readonly owner: User;
}

export interface Transfer {
  readonly bytes: number;
  readonly sha256: string;
  readonly entries: number;
  readonly refused: readonly RefusedEntry[];
}

export interface GetOptions {
  /** Absolute paths, each with all below it. A missing one is named in the result. */
  readonly paths: readonly string[];
  /** gitignore-style patterns left out. */
  readonly exclude?: readonly string[];
  readonly maxBytes: number;
}

export interface GetResult {
  readonly missing: readonly string[];
  /** The limit was met, and the archive ends before what is there does. */
  readonly truncated: boolean;
  readonly bytes: number;
  readonly sha256: string;
}

export interface TerminalOptions {
  readonly user: User;
  readonly columns: number;
  readonly rows: number;
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>>;
  /** An agent has been at work here: whatever keeps the terminal from starting may be that agent's doing, and it is dead. */
  readonly byAgent?: boolean;
  /** Bytes kept of the new output and of the screen: first half and last half, with a line between. */
  readonly limitBytes: number;
}

/** Where the recording of the terminal (asciicast v2) lies in the sandbox, for getFiles. Never a part of the delta. */
export const recordingPath = '/.passband-recording.cast';

export interface ActResult {
  readonly observation: Observation;
  readonly wallMs: number;
}

/** A tmux session inside the sandbox. */
export interface TerminalSession {
  /**
   * Types the actions, waits each one's duration, observes. Done once for each seq (1, 2, ...): asked again it
   * answers what it answered. Ends early when `budgetMs` is used up.
   */
  act(seq: number, actions: readonly TerminalAction[], budgetMs: number | null): Promise<ActResult>;
}

export interface TakenDelta {
  readonly manifest: Omit<DeltaManifest, 'content'>;
  /** Bytes of content over the limit: nothing was streamed, the delta has no content. */
  readonly overLimit: boolean;
  readonly hasContent: boolean;
}

/** Numbers of the sandbox's cgroup, null where it does not tell. */
export interface SandboxUsage {
  readonly oomKills: number | null;
  readonly memoryPeakBytes: number | null;
  readonly diskBytes: number | null;
}

export interface Sandbox {
  readonly identity: SandboxIdentity;
  /** The image's user, work directory and ENTRYPOINT, as the driver resolved them. */
  readonly image: {
    readonly user: string;
    readonly workdir: string;
    readonly entrypoint: readonly string[];
    /** CMD and HEALTHCHECK, of a service's image alone. */
    readonly command?: readonly string[];
    readonly healthcheck?: ServiceHealthcheck | null;
  };
  /**
   * The containers of the services beside it, by service, where they are still there: sandboxes of their own, but that they are made, closed and
   * removed with this one. What this one is asked to do to all processes does not touch theirs.
   */
  readonly services: ReadonlyMap<string, Sandbox>;
  /** What goes with a process that passes the memory limit; null where the sandbox cannot tell. */
  readonly memoryEnds: MemoryEnds | null;
  run(command: Command, signal?: AbortSignal): Promise<CommandResult>;
  /** Starts a command that is not waited for (an image's ENTRYPOINT): once for each id. */
  start(command: Omit<Command, 'stdin' | 'timeoutMs'>): Promise<void>;
  /** Kills what the command of this id started and all that came of it, until none is left. No such command: done. */
  kill(id: string): Promise<void>;
  /** Lays a tar. Retried whole on a cut; counted and hashed on both ends, a difference is an error. */
  putFiles(tar: () => Readable, options: PutOptions): Promise<Transfer>;
  /** Streams a tar of the paths into `sink`; hashed on both ends. After a cut `sink` is called again, for all of it. */
  getFiles(options: GetOptions, sink: (tar: Readable) => Promise<void>): Promise<GetResult>;
  removePaths(paths: readonly string[]): Promise<void>;
  /** Names in each directory, in order; a directory that is not there has none. */
  listNames(dirs: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
  /** SIGSTOP to all processes but ours. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** SIGKILL to all processes but ours, until none is left. */
  endProcesses(): Promise<void>;
  /** The session, started where there is none yet. */
  terminal(options: TerminalOptions): Promise<TerminalSession>;
  /**
   * The difference of the whole file system against the image, content into `sink` where there is any. ClassifiedError
   * `Unexpected` where the sandbox was made without a baseline.
   */
  takeDelta(limitBytes: number, sink: (tar: Readable) => Promise<void>): Promise<TakenDelta>;
  /** The declared artifacts in place of the whole difference. */
  takeArtifacts(
    artifacts: readonly Artifact[],
    limitBytes: number,
    sink: (tar: Readable) => Promise<void>,
  ): Promise<TakenDelta>;
  /**
   * Reads the network from inside and tries all targets of the survey at once. `settleMs`: how long it is asked again
   * while something still answers (a policy reaches a new pod late); 0 asks once. UntriedProof where nothing answers and
   * not all that could was asked.
   */
  proveNetwork(
    survey: EgressSurvey,
    options: { readonly settleMs: number; readonly signal?: AbortSignal },
  ): Promise<NetworkProof>;
  usage(): Promise<SandboxUsage>;
  state(): Promise<SandboxState>;
  /** Closes this process's connection; the sandbox goes on. */
  close(): Promise<void>;
}

/** Makes images that a driver can start, each with the toolbox as its last layer. */
export interface ImageBuilder {
  /**
   * The image of a build context (a tar) or of a prebuilt reference, with the toolbox appended; made only where
   * it is not there. Failures: `ImageMissing` (no such image, or the build fails; the message ends with the
   * build's last lines), `ImagePullTransient`.
   */
  ensure(source: ImageSource, signal?: AbortSignal): Promise<Image>;
}

export type ImageSource =
  | {
      readonly kind: 'build';
      /** Digest of the context's content: the cache key. */
      readonly digest: string;
      readonly context: () => Promise<Readable>;
      readonly dockerfile: string;
      /** The stage to build; unset: the last. */
      readonly target?: string;
      /** Values of ARG. */
      readonly args?: Readonly<Record<string, string>>;
      readonly offline: boolean;
      readonly timeoutMs: number;
    }
  | { readonly kind: 'prebuilt'; readonly reference: string };

export interface ListedSandbox {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: string;
}

export interface SandboxDriver {
  readonly name: 'engine' | 'kubernetes';
  readonly images: ImageBuilder;
  /** Why this driver cannot run a task, by the names of what it lacks; empty where it can. */
  unsupported(task: Pick<Task, 'needs' | 'networkMode'>, network: 'deny' | 'as-declared'): readonly string[];
  /** Why these services cannot run beside each other, as their images have it; null where they can. */
  clash(services: SandboxServices, signal?: AbortSignal): Promise<string | null>;
  /** Creates and starts, or adopts what has this name and this spec already. */
  create(spec: SandboxSpec, signal?: AbortSignal): Promise<Sandbox>;
  /** Attaches to a sandbox that should be there; SandboxGone where it is not what `expected` says. */
  open(expected: SandboxIdentity): Promise<Sandbox>;
  /** Removes what `list` named by force, whatever its state. Not there: done. */
  destroy(name: string): Promise<void>;
  /** Names and labels of all sandboxes that carry the labels, and of what was made for a sweep and holds none any more. */
  list(labels: Readonly<Record<string, string>>): Promise<readonly ListedSandbox[]>;
  /**
   * What its sandboxes' network proofs are held against. Idempotent: what it makes for that is found again by its name,
   * and goes with `removeAll`. ClassifiedError EgressUnprovable where a target that must answer does not.
   */
  surveyEgress(request: SurveyRequest, signal?: AbortSignal): Promise<EgressSurvey>;
  /** Removes every sandbox that carries the labels, and what else was made for them. Nothing there: done. */
  removeAll(labels: Readonly<Record<string, string>>): Promise<void>;
  /** Checks that the engine or cluster answers: ClassifiedError PlatformUnavailable or InputError. */
  check(): Promise<{ readonly version: string; readonly endpoint: string }>;
  close(): Promise<void>;
}
