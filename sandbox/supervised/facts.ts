// What a supervised sandbox must know of its image and its spec to fill in what its commands leave open.
import type { ServiceHealthcheck } from '../../domain/services.ts';
import type { SandboxSpec } from '../port.ts';

export interface ImageFacts {
  /** As the image names it; empty: root. */
  readonly user: string;
  readonly workdir: string;
  readonly entrypoint: readonly string[];
  /** CMD and HEALTHCHECK, where it is a service's. */
  readonly command?: readonly string[];
  readonly healthcheck?: ServiceHealthcheck | null;
}

export interface SandboxFacts {
  readonly image: ImageFacts;
  readonly env: Readonly<Record<string, string>>;
  readonly network: SandboxSpec['network'];
  /** Whether PID 1 was started with `--baseline`. */
  readonly baseline: boolean;
}
