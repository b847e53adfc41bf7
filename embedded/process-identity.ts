// Who a process is: its pid and when it started, so that a pid given out anew is not taken for the old one.
import { readFileSync } from 'node:fs';
import { z } from 'zod';

export const ProcessIdentitySchema = z.strictObject({
  pid: z.int().positive(),
  /** Clock ticks from boot to its start; null where the system does not tell. */
  startTicks: z.int().nullable(),
});
export type ProcessIdentity = z.infer<typeof ProcessIdentitySchema>;

export const identityOf = (pid: number): ProcessIdentity => ({ pid, startTicks: startTicksOf(pid) });

/** Whether that very process still runs. A zombie does not. */
export function isAlive({ pid, startTicks }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, and somebody else's.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  if (startTicks === null) return true;
  return startTicksOf(pid) === startTicks;
}

/** Field 22 of /proc/PID/stat (proc_pid_stat(5)), counted after the name in parentheses; null for a zombie too. */
function startTicksOf(pid: number): number | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? null : Number(fields[19]);
}
