// What a driver supplies for one sandbox; everything else a sandbox can do is spoken over the supervisor's protocol.
import type { Duplex } from 'node:stream';
import type { ProofTarget } from '../egress.ts';
import type { SandboxState } from '../port.ts';

/** How a stream to `supervisor connect` came to its end, as far as the driver can tell. */
export interface StreamEnding {
  /** `inside`: the process was ended or could not be started by what is in the sandbox. */
  readonly by: 'inside' | 'unknown';
  readonly message: string;
}

export interface SupervisorStream {
  readonly stream: Duplex;
  /** Asked after the stream broke. */
  ending(): Promise<StreamEnding>;
}

export interface Link {
  /** When the sandbox was started, in the driver's own words: another value is another life of it. */
  readonly startedAt: string;
  /**
   * Starts `supervisor connect` in the sandbox. Throws SandboxGone, ClassifiedError `PlatformUnavailable`, or
   * ConnectionLost where nobody can say.
   */
  openStream(): Promise<SupervisorStream>;
  /** Looks at the sandbox from outside. ClassifiedError `PlatformUnavailable` where nobody answers. */
  state(): Promise<SandboxState>;
  /** Bytes that the sandbox added to its image, null where the driver cannot tell. */
  diskBytes(): Promise<number | null>;
  /**
   * How closed egress shows: `loopback` there is no interface but loopback; `policy` there is one, and every target of
   * the survey must refuse.
   */
  readonly isolation: 'loopback' | 'policy';
  /** Targets of this sandbox alone (its node's kubelet), beside the survey's. Provable where the survey's of that name is. */
  readonly ownTargets: readonly ProofTarget[];
  /** Directories that the difference does not cover: taken whole. */
  readonly volumes: readonly string[];
}
