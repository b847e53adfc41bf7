// Which driver a configuration names: the one place that knows them all.
import { InputError } from '../domain/errors.ts';
import { createEngineDriver } from '../sandbox/engine/driver.ts';
import { parseEndpoint } from '../sandbox/engine/endpoint.ts';
import type { SandboxDriver } from '../sandbox/port.ts';

export interface DriverChoice {
  readonly sandbox: 'engine' | 'kubernetes';
  /** Where the engine answers. */
  readonly engine: string;
}

/** @throws InputError where the driver is not to be had, or the engine's address is none. */
export function openDriver(choice: DriverChoice, env: NodeJS.ProcessEnv): SandboxDriver {
  switch (choice.sandbox) {
    case 'engine':
      return createEngineDriver(parseEndpoint(choice.engine, env['DOCKER_CERT_PATH'] ?? null));
    case 'kubernetes':
      throw new InputError(
        'sandbox kubernetes: this version grades on a container engine only; use engine',
        78,
      );
  }
}
