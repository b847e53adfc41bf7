// What a driver is asked of closed egress: the places that no sandbox may reach, and which of them can be shown to be shut.
import { ClassifiedError } from '../domain/errors.ts';

/** One place that a sandbox must not reach. */
export interface ProofTarget {
  /** As the proof tells it: `API server`, `model endpoint`. */
  readonly name: string;
  readonly kind: 'tcp' | 'udp-dns';
  /** An address, or a name that the platform's DNS resolves. */
  readonly host: string;
  readonly port: number;
}

export interface SurveyRequest {
  /** Of what is made for it: at most 50 characters of [a-z0-9-], derived from the sweep. */
  readonly name: string;
  /** Those of the sweep: what is made for the survey is found and removed with the rest of it. */
  readonly labels: Readonly<Record<string, string>>;
  /** What the sweep itself knows of: models, the store. The driver adds its platform's own. */
  readonly targets: readonly ProofTarget[];
  readonly lifetimeSec: number;
}

/**
 * Nothing was sent to a place that answers elsewhere, for a cause in the sandbox or its node (no port, no memory, no time):
 * neither closed nor open, and no reason to stop.
 */
export class UntriedProof extends ClassifiedError {
  constructor(message: string) {
    super('ExecBroken', message);
    this.name = 'UntriedProof';
  }
}

/**
 * What a network proof can prove: the same targets, tried from a place that the policy lets out. One that does not answer
 * there is `unprovable` in every proof, and never `denied`; so is a name that has led to no address, which no sandbox is
 * asked to look up. Empty where a driver's sandboxes have no network to be shut off.
 */
export interface EgressSurvey {
  readonly targets: readonly (ProofTarget & { readonly provable: boolean; readonly detail: string })[];
  readonly at: string;
}
