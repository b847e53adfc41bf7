// What an image's configuration says of the service in it: its HEALTHCHECK and what it EXPOSEs, in our own words.
import { z } from 'zod';
import type { ServiceHealthcheck, ServicePort } from '../../domain/services.ts';

/** Times are nanoseconds; 0 and what is left out are the engine's defaults. */
export const HealthConfig = z.object({
  Test: z.array(z.string()).nullish(),
  Interval: z.number().nullish(),
  Timeout: z.number().nullish(),
  StartPeriod: z.number().nullish(),
  StartInterval: z.number().nullish(),
  Retries: z.number().nullish(),
});

/** Null where there is none, or it says `NONE`. */
export function healthOfImage(config: z.infer<typeof HealthConfig> | null): ServiceHealthcheck | null {
  const argv = argvOf(config?.Test ?? []);
  if (config === null || argv === null) return null;
  return {
    argv,
    intervalSec: seconds(config.Interval),
    timeoutSec: seconds(config.Timeout),
    startPeriodSec: seconds(config.StartPeriod),
    startIntervalSec: seconds(config.StartInterval),
    retries: config.Retries === 0 ? null : (config.Retries ?? null),
  };
}

function argvOf([kind, ...words]: readonly string[]): string[] | null {
  if (words.length === 0) return null;
  if (kind === 'CMD') return words;
  return kind === 'CMD-SHELL' ? ['/bin/sh', '-c', ...words] : null;
}

const seconds = (nanoseconds: number | null | undefined): number | null =>
  nanoseconds === null || nanoseconds === undefined || nanoseconds === 0 ? null : nanoseconds / 1e9;

/** `5432/tcp`, `8000`; what is neither is of no use to anybody, and left out. */
export function portsOfImage(exposed: readonly string[]): ServicePort[] {
  return exposed.flatMap((text) => {
    const [number = '', protocol = 'tcp'] = text.toLowerCase().split('/');
    const port = Number(number);
    const known = protocol === 'tcp' || protocol === 'udp' || protocol === 'sctp';
    return known && Number.isInteger(port) && port >= 1 && port <= 65_535 ? [{ port, protocol }] : [];
  });
}
