// A service's healthcheck, as far as the file says it.
import type { Service, ServiceHealthcheck } from '../../domain/services.ts';
import type { ServiceTable } from './schema.ts';

/** Null: the image's own, where it has one. */
export function healthOf(table: ServiceTable['healthcheck']): Service['healthcheck'] {
  if (table === undefined) return null;
  if (table.disable === true) return 'none';
  const argv = testOf(table.test);
  if (argv === 'none') return 'none';
  return {
    argv,
    intervalSec: table.interval ?? null,
    timeoutSec: table.timeout ?? null,
    startPeriodSec: table.start_period ?? null,
    startIntervalSec: table.start_interval ?? null,
    retries: table.retries ?? null,
  };
}

/** A list says in its first word how it is run; one string is a shell's. An empty list is the image's own. */
function testOf(test: string | readonly string[] | undefined): ServiceHealthcheck['argv'] | 'none' {
  if (test === undefined) return null;
  if (typeof test === 'string') return ['/bin/sh', '-c', test];
  const [how, ...rest] = test;
  if (how === undefined) return null;
  if (how === 'NONE') return 'none';
  if (how === 'CMD-SHELL') return ['/bin/sh', '-c', rest.join(' ')];
  return how === 'CMD' ? (rest.length > 0 ? rest : null) : [...test];
}
