// What doctor says of one part of a cluster, or of what goes with it.

export interface ClusterFinding {
  readonly part: string;
  /** `lacks`: grading does not work without it. `note`: it does. */
  readonly state: 'has' | 'lacks' | 'note';
  readonly what: string;
  /** How to get it; null where it is there. */
  readonly mend: string | null;
}
