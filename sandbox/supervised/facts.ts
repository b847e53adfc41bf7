// What a supervised sandbox must know of its image and its spec to fill in what its commands leave open.
import type { SandboxSpec } from '../port.ts';

export interface ImageFacts {
  /** As the image names it; empty: root. */
  readonly user: string;
  readonly workdir: string;
  readonly entrypoint: readonly string[];
}

export interface SandboxFacts {
  readonly image: ImageFacts;
  readonly env: Readonly<Record<string, string>>;
  readonly network: SandboxSpec['network'];
}
