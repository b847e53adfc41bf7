// Starting services over the sandboxes of their containers: jobs under ids, so that nothing is started twice.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '../port.ts';
import type { ServicePort } from './start-services.ts';

type Container = Pick<Sandbox, 'run' | 'start'>;

/** The id of what a service is for, in its own container. */
const serviceJob = 'service';

/**
 * `attempt`: of the activity. A later one asks for the same services, and looks at their health anew: under an id that
 * was used it would get the old answer.
 */
export function servicePort(containers: ReadonlyMap<string, Container>, attempt: number): ServicePort {
  const containerOf = (service: string): Container => {
    const container = containers.get(service);
    if (container === undefined) throw new RangeError(`the sandbox has no service ${service}`);
    return container;
  };
  return {
    start: (service, argv) => containerOf(service).start({ id: serviceJob, argv }),
    ended: async (service, argv, signal) => {
      const { exitCode } = await containerOf(service).run({ id: serviceJob, argv, timeoutMs: null }, signal);
      return exitCode;
    },
    probe: async (service, { argv, timeoutSec }, { tries, signal }) => {
      const { exitCode, timedOut, stdout, stderr } = await containerOf(service).run(
        { id: `health-${attempt}-${tries}`, argv, timeoutMs: timeoutSec * 1_000, outputLimitBytes: 4_096 },
        signal,
      );
      const words = [stderr, stdout].map((bytes) => Buffer.from(bytes).toString().trim());
      const said = timedOut ? `no answer in ${timeoutSec} s` : `exit status ${exitCode} ${words.join(' ')}`;
      return { healthy: exitCode === 0 && !timedOut, said };
    },
    now: () => performance.now(),
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
  };
}
