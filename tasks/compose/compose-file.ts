// What the readers of a compose file share: where a key stands, and how a thing that one pod cannot give is refused.
import type { Findings, Place } from '../findings.ts';
import type { Layout } from '../layout.ts';
import type { KeyPath } from './document.ts';
import type { Variables } from './interpolation.ts';

export interface ComposeFile {
  /** Inside the task: `environment/docker-compose.yaml`. */
  readonly path: string;
  readonly layout: Layout;
  readonly variables: Variables;
  place(...key: KeyPath): Place;
  /** Not to be had in one pod, by name: the task is unsupported. */
  refuse(key: KeyPath, name: string, why: string): void;
  /** No driver could run it: compose itself would not. */
  fail(key: KeyPath, reason: string): void;
}

export function composeFile(
  parts: Pick<ComposeFile, 'path' | 'layout' | 'variables'> & {
    readonly findings: Findings;
    readonly lineOf: (key: KeyPath) => number | null;
  },
): ComposeFile {
  const { path, layout, variables, findings, lineOf } = parts;
  const place = (...key: KeyPath): Place => ({ file: path, key: key.join('.'), line: lineOf(key) });
  return {
    path,
    layout,
    variables,
    place,
    refuse: (key, name, why) => findings.error(place(...key), `compose: ${name}: ${why}`, 'unsupported'),
    fail: (key, reason) => findings.error(place(...key), reason),
  };
}
