// The flags that say where trials run: --sandbox, and the file of the Kubernetes driver.
import { Option, type Command } from 'commander';
import { InputError } from '../domain/errors.ts';
import type { DriverName } from '../worker/drivers.ts';

export interface SandboxOption {
  readonly sandbox?: DriverName;
  readonly kubernetes?: string;
}

export const sandboxOption = (): Option =>
  new Option('--sandbox <driver>', 'where trials run (default: engine)').choices(['engine', 'kubernetes']);

/** Adds --sandbox and --kubernetes. */
export function withSandbox(command: Command): Command {
  return command
    .addOption(sandboxOption())
    .option(
      '--kubernetes <file>',
      'with --sandbox kubernetes: the driver’s YAML file, as examples/kubernetes.yaml (default: PASSBAND_KUBERNETES)',
    );
}

/** The driver's file: as named, or PASSBAND_KUBERNETES; null where neither says it. */
export function kubernetesFile(named: string | undefined, env: NodeJS.ProcessEnv): string | null {
  const variable = env['PASSBAND_KUBERNETES'] ?? '';
  return named ?? (variable === '' ? null : variable);
}

/** @throws InputError where a file is named for a driver that is not asked for. */
export function checkSandbox({ sandbox = 'engine', kubernetes }: SandboxOption): void {
  if (sandbox === 'engine' && kubernetes !== undefined) {
    throw new InputError('--kubernetes: the sandbox is engine; add --sandbox kubernetes, or leave it out');
  }
}
