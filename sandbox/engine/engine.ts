// One container engine, Docker or Podman: the client, and what is asked of it more than once.
import Docker from 'dockerode';
import type { ImageFacts } from '../supervised/facts.ts';
import type { Endpoint } from './endpoint.ts';
import { engineCall } from './engine-errors.ts';
import { EngineVersion, InspectedContainer, InspectedImage } from './inspected.ts';

export interface EngineImage {
  readonly id: string;
  readonly facts: ImageFacts;
  readonly volumes: readonly string[];
}

export class Engine {
  readonly docker: Docker;
  readonly endpoint: Endpoint;
  readonly #images = new Map<string, EngineImage>();
  #version: Promise<{ readonly podman: boolean; readonly text: string }> | null = null;

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
    this.docker = new Docker(endpoint.options);
  }

  /** Which engine it is. ClassifiedError `PlatformUnavailable` where it does not answer. */
  async version(): Promise<{ readonly podman: boolean; readonly text: string }> {
    this.#version ??= this.#askVersion().catch((error: unknown) => {
      this.#version = null;
      throw error;
    });
    return this.#version;
  }

  /** NotThere where no container has this name or id. `size` makes the engine add up the files. */
  async inspectContainer(name: string, size = false): Promise<InspectedContainer> {
    const answer = await engineCall(`looking at container ${name}`, (abortSignal) =>
      this.docker.getContainer(name).inspect({ size, abortSignal } as Docker.ContainerInspectOptions),
    );
    return InspectedContainer.parse(answer);
  }

  /** NotThere where the engine does not hold it. What an id names never changes, and is asked for once. */
  async inspectImage(reference: string): Promise<EngineImage> {
    const known = this.#images.get(reference);
    if (known !== undefined) return known;
    const answer = await engineCall(`looking at image ${reference}`, () =>
      this.docker.getImage(reference).inspect(),
    );
    const { Id, Config } = InspectedImage.parse(answer);
    const id = Id.startsWith('sha256:') ? Id : `sha256:${Id}`;
    const workdir = Config?.WorkingDir ?? '';
    const image = {
      id,
      facts: {
        user: Config?.User ?? '',
        workdir: workdir === '' ? '/' : workdir,
        entrypoint: Config?.Entrypoint ?? [],
      },
      volumes: Object.keys(Config?.Volumes ?? {}),
    };
    this.#images.set(id, image);
    return image;
  }

  /** The last lines that PID 1 of a container wrote. */
  async logOf(id: string): Promise<string> {
    const log = await engineCall(`the log of container ${id}`, (abortSignal) =>
      this.docker.getContainer(id).logs({ stdout: true, stderr: true, tail: 5, follow: false, abortSignal }),
    );
    let text = '';
    // Frames as in the stream of an exec: a channel, three zeros, a length.
    for (let at = 0; at + 8 <= log.length; at += 8 + log.readUInt32BE(at + 4)) {
      text += log.toString('utf8', at + 8, at + 8 + log.readUInt32BE(at + 4));
    }
    return text
      .trim()
      .replaceAll(/\s*\n\s*/g, '; ')
      .slice(-1_000);
  }

  async #askVersion(): Promise<{ readonly podman: boolean; readonly text: string }> {
    const answer = EngineVersion.parse(await engineCall('its version', () => this.docker.version()));
    const podman = answer.Components?.find(({ Name }) => Name === 'Podman Engine');
    return podman === undefined
      ? { podman: false, text: `Docker ${answer.Version}` }
      : { podman: true, text: `Podman ${podman.Version}` };
  }
}
