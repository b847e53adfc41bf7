// Which replica a session is asked at: the same one for as long as it is there, whoever asks and whenever.
import { unitOf } from '../domain/backoff.ts';

/**
 * The members in the order of a session's preference (highest random weight). A member that leaves moves only its own
 * sessions, each to that session's next, and they come back with it.
 * Source: Thaler and Ravishankar, «Using name-based mappings to increase hit rates» (1998).
 */
export function preferenceOf<T>(session: string, members: readonly T[], nameOf: (member: T) => string): T[] {
  return members
    .map((member) => ({ member, weight: unitOf(`${nameOf(member)} ${session}`) }))
    .sort((a, b) => b.weight - a.weight)
    .map(({ member }) => member);
}
