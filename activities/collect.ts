// Collect hooks: commands of the task that gather what is handed to its verifier. Best effort, each named where it fails.
import type { Task } from '../domain/task.ts';
import type { Sandbox } from '../sandbox/port.ts';
import { endOfService } from './services.ts';

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
    let ran;
    try {
      ran = await container.run(hook, signal);
    } catch (error) {
      const ended = await endOfService(error, sandbox);
      if (ended === null) throw error;
      warnings.push(`${named}: ${ended}`);
      continue;
    }
    const { exitCode, timedOut } = ran;
    if (timedOut) warnings.push(`${named} did not end in ${timeoutSec} s`);
    else if (exitCode !== 0) warnings.push(`${named} exited with ${exitCode}`);
  }
  return warnings;
}
