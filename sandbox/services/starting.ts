// What each service starts and how its health is asked, from what the task says and what its image says.
import type { Restart, Service, ServiceHealthcheck, TaskServices } from '../../domain/services.ts';
import { supervisorPath } from '../supervised/supervisor.ts';
import type { ServiceHealth, StartingService } from './start-services.ts';

/** What an image says of what it starts. */
export interface StartedImage {
  readonly entrypoint: readonly string[];
  /** CMD; unset: none. */
  readonly command?: readonly string[];
  /** HEALTHCHECK; unset or null: none. */
  readonly healthcheck?: ServiceHealthcheck | null;
}

/** What an image's ENTRYPOINT is given to run where nothing else is: it waits for ever. */
const idle = [supervisorPath, 'idle'] as const;

/** Of an engine, where neither the task nor the image says it. */
const defaults = { intervalSec: 30, timeoutSec: 30, startPeriodSec: 0, retries: 3 } as const;

/**
 * The services in the order of the file, main first. `images`: by service, main's own under `main`.
 * @throws RangeError where nothing is known of an image
 */
export function startingServices(
  { main, sidecars }: TaskServices,
  images: ReadonlyMap<string, StartedImage>,
  mainName = 'main',
): StartingService[] {
  const imageOf = (name: string): StartedImage => {
    const image = images.get(name);
    if (image === undefined) throw new RangeError(`nothing is known of the image of ${name}`);
    return image;
  };
  return [
    {
      name: mainName,
      argv: mainArgv(main, imageOf(mainName)),
      // A container of ours is not what its image's HEALTHCHECK speaks of: only the task's own word counts.
      health: main.healthcheck === null ? null : healthOf(main.healthcheck, imageOf(mainName).healthcheck),
      dependsOn: main.dependsOn,
    },
    ...sidecars.map((service) => {
      const image = imageOf(service.name);
      return {
        name: service.name,
        argv: againOn(service.restart, sidecarArgv(service, image)),
        health: healthOf(service.healthcheck, image.healthcheck),
        dependsOn: service.dependsOn,
      };
    }),
  ];
}

function mainArgv(
  { entrypoint, command, restart }: TaskServices['main'],
  image: StartedImage,
): readonly string[] {
  const first = entrypoint ?? image.entrypoint;
  if (command === null) return first.length === 0 ? [] : [...first, ...idle];
  return againOn(restart, [...first, ...command]);
}

function sidecarArgv({ entrypoint, command }: Service, image: StartedImage): readonly string[] {
  const rest = command ?? (entrypoint === null ? (image.command ?? []) : []);
  return [...(entrypoint ?? image.entrypoint), ...rest];
}

/** Our own program starts it again, in the container itself: no worker need be there. */
function againOn(restart: Restart, argv: readonly string[]): readonly string[] {
  if (argv.length === 0 || restart.policy === 'no') return argv;
  const times = restart.policy === 'on-failure' && restart.retries !== null ? `:${restart.retries}` : '';
  return [supervisorPath, 'again', `${restart.policy}${times}`, ...argv];
}

/** Null: nobody can ask, and nobody waits for it. */
function healthOf(own: Service['healthcheck'], image: StartedImage['healthcheck']): ServiceHealth | null {
  if (own === 'none') return null;
  const argv = own?.argv ?? image?.argv ?? null;
  if (argv === null) return null;
  const of = (key: keyof typeof defaults): number => own?.[key] ?? image?.[key] ?? defaults[key];
  return {
    argv,
    intervalSec: of('intervalSec'),
    timeoutSec: of('timeoutSec'),
    startPeriodSec: of('startPeriodSec'),
    retries: of('retries'),
  };
}
