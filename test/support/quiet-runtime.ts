// Imported for its effect: the SDK's own log is left out, it would bury a test's. What fails is in the failure.
import { DefaultLogger, Runtime } from '@temporalio/worker';

Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { filter: 'OFF' } },
});
