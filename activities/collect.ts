// Collect hooks: commands of the task that gather what is handed to its verifier. Best effort, each named where it fails.
import type { Task } from '../domain/task.ts';
import { SandboxGone, type Sandbox } from '../sandbox/port.ts';

/** Runs the hooks in order, before the agent's processes are stopped. Answers a warning for each that did not work. */
export async function collect(
  sandbox: Sandbox,
  { collect: hooks }: Pick<Task, 'collect'>,
  step: number,
  signal: AbortSignal,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const [at, { command, service, timeoutSec, user }] of hooks.entries()) {
    const named = `collect hook ${at + 1} (${command.slice(0, 60)})`;
    const container = service === 'main' ? sandbox : sandbox.services.get(service);
    if (container === undefined) {
      warnings.push(`${named}: there is no service ${service}`);
      continue;
    }
    const limits = { user, timeoutMs: timeoutSec * 1_000, outputLimitBytes: 4_096 };
    const hook = { id: `collect-${step}-${at}`, argv: ['/bin/sh', '-c', command], ...limits };
    const ran = await container.run(hook, signal).catch((error: unknown) => endOfService(error, sandbox));
    if (typeof ran === 'string') {
      warnings.push(`${named}: ${ran}`);
      continue;
    }
    const { exitCode, timedOut } = ran;
    if (timedOut) warnings.push(`${named} did not end in ${timeoutSec} s`);
    else if (exitCode !== 0) warnings.push(`${named} exited with ${exitCode}`);
  }
  return warnings;
}

/** Why a service takes no command, where its own container has ended and the sandbox goes on. Throws anything else. */
async function endOfService(error: unknown, sandbox: Sandbox): Promise<string> {
  if (error instanceof SandboxGone && (await sandbox.state()).kind === 'alive') return error.message;
  throw error;
}
