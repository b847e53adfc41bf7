// What the operations of one sandbox share.
import type { Connections } from './connections.ts';
import type { SandboxFacts } from './facts.ts';
import type { Link } from './link.ts';

export interface Supervised {
  readonly link: Link;
  readonly connections: Connections;
  readonly facts: SandboxFacts;
}
