// Paths of a sandbox that are the platform's: made by the kernel, the engine or us, never a part of anybody's work.
import { recordingPath } from '../port.ts';
import { laidMarker } from '../services/lay-mounts.ts';

const trees = ['/opt/passband', recordingPath, `/${laidMarker}`, '/proc', '/sys', '/dev'];

/** Whether the path is one of ours, or below one. */
export function isOurs(path: string): boolean {
  return trees.some((tree) => path === tree || path.startsWith(`${tree}/`));
}
