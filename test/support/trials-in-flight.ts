// Trials of a running sweep as their files show them: which have replies and no verdict yet, and what stands there so far.
import path from 'node:path';
import { trialsPrefix } from '../../domain/layout.ts';
import { digestsUnder } from './store-files.ts';

/** A sweep's trial files so far: path under its trials to sha256. */
export type TrialFiles = ReadonlyMap<string, string>;

export interface Snapshot {
  readonly files: TrialFiles;
  /** Folders of trials, `task/model/scaffold/attempt`, with so many replies at least and no verdict. */
  readonly interrupted: readonly string[];
}

const trialOf = (file: string): string => file.split(path.sep).slice(0, 4).join('/');

/** Names of reply records of a trial, in order, with their place in the trial. */
export function repliesOf(files: TrialFiles, trial: string): string[] {
  return [...files.keys()].filter((file) => trialOf(file) === trial && file.endsWith('-reply.json')).sort();
}

export async function snapshotOf(store: string, sweep: string, minReplies: number): Promise<Snapshot> {
  const files = await digestsUnder(store, trialsPrefix(sweep));
  const trials = [...new Set([...files.keys()].map(trialOf))];
  return {
    files,
    interrupted: trials.filter(
      (trial) =>
        !files.has(`${trial}/verdict.json`) &&
        ![...files.keys()].some((file) => trialOf(file) === trial && file.endsWith('/episode.json')) &&
        repliesOf(files, trial).length >= minReplies,
    ),
  };
}
