// Temporal's runtime in this process: its own log goes into ours, and signals are left to us.
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';

let installed = false;

/** Once a process: the SDK allows no more. Later calls keep the first log. */
export function installRuntime(log: Logger): void {
  if (installed) return;
  installed = true;
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      if (level === 'ERROR') log.error({ temporal: meta }, message);
      else log.warn({ temporal: meta }, message);
    }),
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: 'WARN', forward: {} } },
  });
}
