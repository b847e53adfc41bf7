// What sandboxes do in tests of verification: agents that leave files, and verifiers that leave rewards, fail or hang.
import { phases, readPhase, type VerifyRecord } from '../../../activities/phase-records.ts';
import { resolveSubject } from '../../../activities/subject.ts';
import type { Subject } from '../../../activities/types.ts';
import { quiet, type Behaviour } from '../fake-driver.ts';
import { deltaEntry } from '../../support/delta-entry.ts';
import type { Lab } from '../lab.ts';

export const pass = { 'reward.txt': '1\n' };
export const fail = { 'reward.txt': '0\n' };

/** A verifier whose test.sh leaves these files. */
export const leaving = (files: Readonly<Record<string, string>>): Behaviour => ({
  ...quiet,
  onRun: (command, sandbox) => {
    if (command.argv[0] !== '/tests/test.sh') return {};
    for (const [name, content] of Object.entries(files)) sandbox.verifierFiles.set(name, content);
    return { exitCode: 1 };
  },
});
export const agentWith = (...paths: string[]): Behaviour => ({
  ...quiet,
  entries: paths.map((path) => deltaEntry(path)),
});
export const throwing = (error: Error): Behaviour => ({
  ...quiet,
  onRun: ({ argv }) => (argv[0] === '/tests/test.sh' ? Promise.reject(error) : {}),
});

/** Where a command names this, the sandbox is over its disk limit and the command never ends. */
export const filling = (program: string): Behaviour => ({
  ...quiet,
  onRun: ({ argv }, sandbox) => {
    if (!argv.includes(program)) return {};
    const reason = "the sandbox's files take 20000 MiB, its limit is 10240 MiB";
    sandbox.now = { kind: 'gone', cause: 'self', why: 'disk', reason };
    return new Promise<never>(() => undefined);
  },
});

export async function verificationRecord(lab: Lab, subject: Subject): Promise<VerifyRecord> {
  const record = await readPhase(lab.world, phases.verify(await resolveSubject(lab.world, subject), 0));
  if (record === null) throw new Error('the step was not verified');
  return record;
}
