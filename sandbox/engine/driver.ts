// The sandbox driver of a single machine: containers of Docker or Podman, for development and small sweeps.
import { ClassifiedError } from '../../domain/errors.ts';
import type { Task } from '../../domain/task.ts';
import type { EgressSurvey } from '../egress.ts';
import {
  SandboxGone,
  type ImageBuilder,
  type Sandbox,
  type SandboxDriver,
  type SandboxIdentity,
  type SandboxSpec,
  type ListedSandbox,
} from '../port.ts';
import { attach, bootOf } from '../supervised/supervised-sandbox.ts';
import { containerOf, keptFacts, labels } from './container.ts';
import { specDigest } from '../spec-digest.ts';
import { supervisorConfigStatus } from '../supervised/supervisor.ts';
import { goneOf } from './container-state.ts';
import type { Endpoint } from './endpoint.ts';
import { Engine, type EngineImage } from './engine.ts';
import { engineCall, InTheWay, isRefusal, NotThere } from './engine-errors.ts';
import { EngineLink } from './engine-link.ts';
import { EngineImages } from './images.ts';
import { engineLacks } from './unsupported.ts';
import { ListedContainers, type InspectedContainer } from './inspected.ts';

export function createEngineDriver(endpoint: Endpoint): SandboxDriver {
  return new EngineDriver(new Engine(endpoint));
}

/** How long a name may be taken by a container that is not there. */
const nameTakenMs = 10_000;

class EngineDriver implements SandboxDriver {
  readonly name = 'engine';
  readonly images: ImageBuilder;
  readonly #engine: Engine;
  /** Sandboxes of this process whose connections `close` ends. */
  readonly #open = new Set<Sandbox>();
  #storageQuota = true;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.images = new EngineImages(engine);
  }

  unsupported(task: Pick<Task, 'needs' | 'networkMode'>, network: 'deny' | 'as-declared'): readonly string[] {
    return engineLacks(task, network);
  }

  async create(spec: SandboxSpec, signal?: AbortSignal): Promise<Sandbox> {
    const image = await this.#image(spec);
    const until = Date.now() + nameTakenMs;
    for (;;) {
      const id = await this.#createContainer(spec, image, signal);
      if (id !== null) return this.#begin(spec, id, image);
      try {
        return await this.#adopt(spec, image);
      } catch (error) {
        // Its name is taken before it can be seen, and after it could be: somebody is making or removing it.
        if (!(error instanceof NotThere)) throw error;
        if (Date.now() > until) {
          const message = `the name ${spec.name} stays taken by a container that is not there`;
          throw new ClassifiedError('PlatformUnavailable', message, { cause: error });
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  async open(expected: SandboxIdentity): Promise<Sandbox> {
    const { name, uid } = expected;
    let inspected;
    try {
      inspected = await this.#engine.inspectContainer(name);
    } catch (error) {
      if (!(error instanceof NotThere)) throw error;
      const reason = `container ${name} was deleted from outside`;
      throw new SandboxGone({ kind: 'gone', cause: 'platform', why: 'deleted', reason });
    }
    if (inspected.Id !== uid) {
      throw new SandboxGone({ kind: 'replaced', reason: `another container has the name ${name}` });
    }
    const image = await this.#engine.inspectImage(expected.imageDigest);
    const { startedAt } = bootOf(expected.bootId);
    const state = await this.#link(inspected, image, startedAt).state();
    if (state.kind !== 'alive') throw new SandboxGone(state);
    return this.#attach(inspected, image, expected);
  }

  async destroy(name: string): Promise<void> {
    try {
      await engineCall(`removing container ${name}`, () =>
        this.#engine.docker.getContainer(name).remove({ force: true, v: true }),
      );
    } catch (error) {
      // In the way: somebody else is removing it right now.
      if (!(error instanceof NotThere || error instanceof InTheWay)) throw error;
    }
    for (const sandbox of this.#open) {
      if (sandbox.identity.name === name) await sandbox.close();
    }
  }

  async list(wanted: Readonly<Record<string, string>>): Promise<readonly ListedSandbox[]> {
    const label = [labels.spec, ...Object.entries(wanted).map(([key, value]) => `${key}=${value}`)];
    const answer = await engineCall('listing containers', (abortSignal) =>
      this.#engine.docker.listContainers({ all: true, filters: { label }, abortSignal }),
    );
    return ListedContainers.parse(answer).map(({ Names, Labels, Created }) => ({
      name: (Names[0] ?? '').replace(/^\//, ''),
      labels: Object.fromEntries(keptFacts(Labels).labels.map((key) => [key, Labels?.[key] ?? ''])),
      createdAt: new Date(Created * 1000).toISOString(),
    }));
  }

  /** It refuses every task of several containers. */
  clash(): Promise<string | null> {
    return Promise.resolve(null);
  }

  /** Its sandboxes have no network: what they must not reach need not be known. */
  surveyEgress(): Promise<EgressSurvey> {
    return Promise.resolve({ targets: [], at: new Date().toISOString() });
  }

  async removeAll(wanted: Readonly<Record<string, string>>): Promise<void> {
    for (const { name } of await this.list(wanted)) await this.destroy(name);
  }

  async check(): Promise<{ readonly version: string; readonly endpoint: string }> {
    const { text } = await this.#engine.version();
    return { version: text, endpoint: this.#engine.endpoint.text };
  }

  async close(): Promise<void> {
    for (const sandbox of this.#open) await sandbox.close();
  }

  async #image({ image }: SandboxSpec): Promise<EngineImage> {
    try {
      return await this.#engine.inspectImage(image.digest);
    } catch (error) {
      if (!(error instanceof NotThere)) throw error;
      throw new ClassifiedError(
        'ImageMissing',
        `the engine does not hold ${image.reference} (${image.digest})`,
        {
          cause: error,
        },
      );
    }
  }

  /** The new container's id; null where the name is taken. */
  async #createContainer(
    spec: SandboxSpec,
    image: EngineImage,
    signal?: AbortSignal,
  ): Promise<string | null> {
    const quota = this.#storageQuota;
    try {
      const container = await engineCall(
        `creating container ${spec.name}`,
        (abortSignal) =>
          this.#engine.docker.createContainer({ ...containerOf(spec, image.facts, quota), abortSignal }),
        signal,
      );
      return container.id;
    } catch (error) {
      if (error instanceof InTheWay) return null;
      if (quota && error instanceof ClassifiedError && /quota|storage/i.test(error.message)) {
        // This engine's storage holds no limits: the link looks at the size instead.
        this.#storageQuota = false;
        return this.#createContainer(spec, image, signal);
      }
      // More processors than the machine has, less memory than a container can have: what the task asks for.
      throw isRefusal(error) ? new ClassifiedError('TaskInvalid', error.message, { cause: error }) : error;
    }
  }

  async #begin(spec: SandboxSpec, id: string, image: EngineImage): Promise<Sandbox> {
    await this.#start(id);
    try {
      const inspected = await this.#engine.inspectContainer(id);
      return await this.#attach(inspected, image, { name: spec.name, bootId: null });
    } catch (error) {
      throw error instanceof SandboxGone ? await this.#stillborn(spec, id, error) : error;
    }
  }

  async #start(id: string): Promise<void> {
    try {
      await engineCall('starting a container', (abortSignal) =>
        this.#engine.docker.getContainer(id).start({ abortSignal }),
      );
    } catch (error) {
      // In the way: a call that was cut had started it.
      if (!(error instanceof InTheWay)) throw error;
    }
  }

  /** A supervisor that the image gives no ground to stand on (a USER that it does not have, say) names it in its log. */
  async #stillborn({ image }: SandboxSpec, id: string, gone: SandboxGone): Promise<Error> {
    const inspected = await this.#engine.inspectContainer(id);
    if (inspected.State.ExitCode !== supervisorConfigStatus) return gone;
    const log = await this.#engine.logOf(id);
    return new ClassifiedError('TaskInvalid', `a sandbox of ${image.reference} cannot start: ${log}`, {
      cause: gone,
    });
  }

  async #adopt(spec: SandboxSpec, image: EngineImage): Promise<Sandbox> {
    let inspected = await this.#engine.inspectContainer(spec.name);
    if (inspected.Config.Labels?.[labels.spec] !== specDigest(spec)) {
      throw new ClassifiedError(
        'Unexpected',
        `a container named ${spec.name} is there, made for something else`,
      );
    }
    if (['created', 'configured', 'initialized'].includes(inspected.State.Status)) {
      await this.#start(inspected.Id);
      inspected = await this.#engine.inspectContainer(inspected.Id);
    }
    if (!inspected.State.Running) {
      throw await this.#stillborn(spec, inspected.Id, new SandboxGone(goneOf(inspected.State)));
    }
    return this.#attach(inspected, image, { name: spec.name, bootId: null });
  }

  async #attach(
    inspected: InspectedContainer,
    image: EngineImage,
    { name, bootId }: { readonly name: string; readonly bootId: string | null },
  ): Promise<Sandbox> {
    const kept = keptFacts(inspected.Config.Labels);
    const facts = {
      image: { ...image.facts, workdir: kept.workdir },
      env: kept.env,
      network: kept.network,
      baseline: kept.baseline,
    };
    const { host } = this.#engine.endpoint;
    const identity = { name, driver: this.name, uid: inspected.Id, host, imageDigest: image.id, bootId };
    const link = this.#link(inspected, image, inspected.State.StartedAt);
    const sandbox = await attach(link, facts, identity, {
      onClose: (closed) => this.#open.delete(closed),
    });
    this.#open.add(sandbox);
    return sandbox;
  }

  #link(inspected: InspectedContainer, image: EngineImage, startedAt: string): EngineLink {
    const { diskMiB } = keptFacts(inspected.Config.Labels);
    const name = inspected.Name.replace(/^\//, '');
    return new EngineLink(this.#engine, {
      id: inspected.Id,
      name,
      startedAt,
      diskMiB,
      volumes: image.volumes,
    });
  }
}
