// A driver whose sandboxes remember what was asked of them and answer as a test says: typed by the port.
import type { Readable } from 'node:stream';
import type { DeltaEntry } from '../../domain/delta.ts';
import { ClassifiedError } from '../../domain/errors.ts';
import type { NetworkProof } from '../../domain/network.ts';
import { UntriedProof, type EgressSurvey } from '../../sandbox/egress.ts';
import type {
  Command,
  CommandResult,
  Sandbox,
  SandboxDriver,
  SandboxIdentity,
  SandboxSpec,
  SandboxState,
  TakenDelta,
} from '../../sandbox/port.ts';
import type { Artifact } from '../../domain/task.ts';
import { SandboxGone } from '../../sandbox/port.ts';
import { readArchive, smallArchive } from '../../activities/archives.ts';
import { untilAborted } from '../../activities/sandbox-pool.ts';
import { takenId } from '../../activities/verify/take.ts';

export interface Behaviour {
  /** What a command does; it may write files of the verifier, or throw. */
  readonly onRun: (command: Command, sandbox: FakeSandbox) => Partial<CommandResult> | Promise<never>;
  readonly entries: readonly DeltaEntry[];
  readonly network: NetworkProof['outcome'];
  readonly overLimit: boolean;
  /** What runs beside the tests does when it may go on. */
  readonly onResume: (sandbox: FakeSandbox) => void;
  /** What ended with the command of this id does no more. */
  readonly onKill: (id: string, sandbox: FakeSandbox) => void;
  /** Thrown by getFiles: our fetch of the reward is cut. */
  readonly getFails: Error | null;
  /** Thrown by putFiles at the root: what is laid there is more than there is room for. */
  readonly putFails: Error | null;
}

export const quiet: Behaviour = {
  onRun: () => ({}),
  entries: [],
  network: 'denied',
  overLimit: false,
  onResume: () => undefined,
  onKill: () => undefined,
  getFails: null,
  putFails: null,
};

export const result = (fields: Partial<CommandResult>): CommandResult => ({
  exitCode: 0,
  signal: null,
  timedOut: false,
  stdout: new Uint8Array(),
  stderr: new Uint8Array(),
  stdoutOmitted: 0,
  stderrOmitted: 0,
  wallMs: 5,
  ...fields,
});

export class FakeSandbox implements Sandbox {
  readonly identity: SandboxIdentity;
  readonly image = { user: '', workdir: '/work', entrypoint: [] };
  readonly services: ReadonlyMap<string, FakeSandbox>;
  readonly memoryEnds = 'process';
  /** In order: what was asked. */
  readonly asked: string[] = [];
  /** What test.sh leaves in /logs/verifier. */
  readonly verifierFiles = new Map<string, string>();
  /** How long each network proof was given to settle. */
  readonly settled: number[] = [];
  /** As its spec says. */
  readonly baseline: boolean;
  now: SandboxState = { kind: 'alive' };
  network: NetworkProof['outcome'];
  /** How many network proofs find nothing to send with; null: all, until its processes and those of its services are ended. */
  untried: number | null = 0;
  readonly #behaviour: Behaviour;
  /** Of what was taken in it, the program of whoever came first, by id. */
  readonly #takenBy = new Map<string, string>();

  constructor(spec: SandboxSpec, behaviour: Behaviour) {
    this.#behaviour = behaviour;
    this.network = behaviour.network;
    this.baseline = spec.baseline;
    const { services } = spec;
    this.services = new Map(
      services?.sidecars.map(({ name, image }) => {
        const own = { ...spec, name: `${spec.name}/${name}`, image, services: { ...services, sidecars: [] } };
        return [name, new FakeSandbox(own, behaviour)];
      }),
    );
    this.identity = {
      name: spec.name,
      driver: 'engine',
      uid: `uid-${spec.name}`,
      host: 'here',
      imageDigest: spec.image.digest,
      bootId: 'boot',
    };
  }

  async #ask(what: string): Promise<void> {
    if (this.now.kind !== 'alive') throw new SandboxGone(this.now);
    this.asked.push(what);
    await Promise.resolve();
  }

  async run(command: Command, signal?: AbortSignal): Promise<CommandResult> {
    if (command.id.startsWith(takenId)) {
      if (this.now.kind !== 'alive') throw new SandboxGone(this.now);
      const first = this.#takenBy.get(command.id) ?? command.argv.join(' ');
      this.#takenBy.set(command.id, first);
      return result({ exitCode: 127, stderr: Buffer.from(`cannot start ${first}`) });
    }
    await this.#ask(`run ${command.argv.join(' ')}`);
    signal?.throwIfAborted();
    const answer = Promise.resolve(this.#behaviour.onRun(command, this));
    return result(await (signal === undefined ? answer : untilAborted(signal, answer)));
  }
  start(command: Pick<Command, 'id'>): Promise<void> {
    return this.#ask(`start ${command.id}`);
  }
  kill(id: string): Promise<void> {
    this.#behaviour.onKill(id, this);
    return this.#ask(`kill ${id}`);
  }
  async putFiles(tar: () => Readable, { dir }: { dir: string }) {
    await this.#ask(`put ${dir}`);
    if (dir === '/' && this.#behaviour.putFails !== null) throw this.#behaviour.putFails;
    const files = await readArchive(tar(), 1_000);
    for (const [path, content] of files) {
      const name = /^\/logs\/verifier\/(.+)$/.exec(dir === '/' ? path : '')?.[1];
      if (name !== undefined) this.verifierFiles.set(name, content.toString());
    }
    return { bytes: 0, sha256: '', entries: files.size, refused: [] };
  }
  async getFiles(options: { paths: readonly string[] }, sink: (tar: Readable) => Promise<void>) {
    await this.#ask(`get ${options.paths.join(' ')}`);
    if (this.#behaviour.getFails !== null) throw this.#behaviour.getFails;
    const files = [...this.verifierFiles].map(([name, content]) => ({
      name: `logs/verifier/${name}`,
      mode: 0o644,
      content,
    }));
    await sink(smallArchive(files));
    return { missing: [], truncated: false, bytes: 0, sha256: '' };
  }
  removePaths(paths: readonly string[]): Promise<void> {
    if (paths.includes('/logs/verifier')) this.verifierFiles.clear();
    return this.#ask(`remove ${paths.join(' ')}`);
  }
  async listNames(dirs: readonly string[]) {
    await this.#ask('list');
    return new Map(dirs.map((dir) => [dir, []]));
  }
  pause(): Promise<void> {
    return this.#ask('pause');
  }
  resume(): Promise<void> {
    this.#behaviour.onResume(this);
    return this.#ask('resume');
  }
  endProcesses(): Promise<void> {
    return this.#ask('end');
  }
  async terminal() {
    await this.#ask('terminal');
    return {
      act: async (seq: number) => {
        await this.#ask(`act ${seq}`);
        return { observation: { alive: true, fresh: '', screen: '$' }, wallMs: 1 };
      },
    };
  }
  async takeDelta(_limit: number, sink: (tar: Readable) => Promise<void>): Promise<TakenDelta> {
    if (!this.baseline) throw new ClassifiedError('Unexpected', 'a delta without a baseline');
    return this.#taken(sink);
  }
  async #taken(sink: (tar: Readable) => Promise<void>): Promise<TakenDelta> {
    await this.#ask('delta');
    const { entries, overLimit } = this.#behaviour;
    const present = entries.filter(({ change, kind }) => change !== 'deleted' && kind === 'file');
    if (!overLimit) {
      await sink(
        smallArchive(present.map(({ path, mode }) => ({ name: path.slice(1), mode, content: 'x' }))),
      );
    }
    const manifest = {
      format: 'passband.delta' as const,
      version: 1 as const,
      entries: [...entries],
      refused: [],
      missing: [],
    };
    return { manifest, overLimit, hasContent: !overLimit && present.length > 0 };
  }
  /** Declared sources are there where an entry lies at or below them. */
  async takeArtifacts(
    artifacts: readonly Artifact[],
    _limit: number,
    sink: (tar: Readable) => Promise<void>,
  ): Promise<TakenDelta> {
    const taken = await this.#taken(sink);
    const missing = artifacts
      .map(({ source }) => source)
      .filter((source) => !taken.manifest.entries.some(({ path }) => path.startsWith(source)));
    return { ...taken, manifest: { ...taken.manifest, missing } };
  }
  async proveNetwork(_: EgressSurvey, { settleMs }: { readonly settleMs: number }): Promise<NetworkProof> {
    await this.#ask('proof');
    this.settled.push(settleMs);
    const held = [this, ...this.services.values()].some(({ asked }) => !asked.includes('end'));
    if (this.untried === null ? held : this.untried > 0) {
      if (this.untried !== null) this.untried -= 1;
      throw new UntriedProof('closed egress could not be tried: API server: no port');
    }
    const { network } = this;
    const interfaces = [{ name: network === 'open' ? 'eth0' : 'lo', addresses: ['127.0.0.1/8'] }];
    return { outcome: network, interfaces, routes: [], probes: [], at: '2026-01-01T00:00:00.000Z' };
  }
  usage() {
    return Promise.resolve({ oomKills: 0, memoryPeakBytes: null, diskBytes: null });
  }
  state(): Promise<SandboxState> {
    return Promise.resolve(this.now);
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

export interface FakeDriver extends SandboxDriver {
  /** Every sandbox that was made, by the last part of its name. */
  readonly made: Map<string, FakeSandbox>;
  readonly destroyed: string[];
  /** How often an egress survey was asked for. */
  readonly surveyed: number;
}

/** `behaviourOf` is asked by the phase in a sandbox's name: `agent`, `verifier-0`, `verifier-restored-0`, `oracle-0`. */
export function fakeDriver(behaviourOf: (phase: string) => Behaviour): FakeDriver {
  const made = new Map<string, FakeSandbox>();
  const byName = new Map<string, FakeSandbox>();
  const destroyed: string[] = [];
  const specs = new Map<string, SandboxSpec>();
  let surveyed = 0;
  return {
    name: 'engine',
    made,
    destroyed,
    images: { ensure: () => Promise.resolve({ reference: 'image', digest: 'sha256:image' }) },
    unsupported: (task) => task.needs,
    clash: () => Promise.resolve(null),
    create: (spec) => {
      const known = byName.get(spec.name);
      if (known !== undefined) return Promise.resolve(known);
      const phase = spec.name.split('-').slice(2).join('-');
      const sandbox = new FakeSandbox(spec, behaviourOf(phase));
      made.set(phase, sandbox);
      byName.set(spec.name, sandbox);
      specs.set(spec.name, spec);
      return Promise.resolve(sandbox);
    },
    open: ({ name }) => {
      const sandbox = byName.get(name);
      if (sandbox !== undefined) return Promise.resolve(sandbox);
      const reason = `container ${name} was deleted`;
      throw new SandboxGone({ kind: 'gone', cause: 'platform', why: 'deleted', reason });
    },
    destroy: (name) => {
      byName.delete(name);
      destroyed.push(name);
      return Promise.resolve();
    },
    list: (labels) =>
      Promise.resolve(
        [...specs.values()]
          .filter((spec) => byName.has(spec.name))
          .filter((spec) => Object.entries(labels).every(([key, value]) => spec.labels[key] === value))
          .map((spec) => ({ name: spec.name, labels: spec.labels, createdAt: '2026-01-01T00:00:00.000Z' })),
      ),
    get surveyed() {
      return surveyed;
    },
    surveyEgress: () => {
      surveyed += 1;
      return Promise.resolve({ targets: [], at: '2026-01-01T00:00:00.000Z' });
    },
    async removeAll(labels) {
      for (const { name } of await this.list(labels)) await this.destroy(name);
    },
    check: () => Promise.resolve({ version: '1', endpoint: 'fake' }),
    close: () => Promise.resolve(),
  };
}
