// Who waits for whom: depends_on with its conditions, links, and a network that another service brings.
import type { Dependency, Service } from '../../domain/services.ts';
import type { ComposeFile } from './compose-file.ts';
import type { ServiceTable } from './schema.ts';

const conditions = {
  service_started: 'started',
  service_healthy: 'healthy',
  service_completed_successfully: 'completed',
} as const;

/** The services that one waits for, those that the file does not start left out where it says that it may. */
export function dependenciesOf(
  file: ComposeFile,
  {
    name,
    table,
    started,
  }: { readonly name: string; readonly table: ServiceTable; readonly started: ReadonlySet<string> },
): Dependency[] {
  const found = new Map<string, Dependency>();
  const add = (key: string, service: string, condition: Dependency['condition'], required = true): void => {
    if (started.has(service)) {
      const known = found.get(service);
      if (known === undefined || known.condition === 'started') found.set(service, { service, condition });
    } else if (required) {
      file.fail(['services', name, key], `waits for ${service}, which is no service that is started`);
    }
  };
  for (const [service, { condition, required }] of Object.entries(table.depends_on)) {
    add('depends_on', service, conditions[condition], required);
  }
  for (const link of table.links) add('links', link.split(':')[0] ?? link, 'started');
  const shared = /^service:(.+)$/.exec(table.network_mode ?? '')?.[1];
  if (shared !== undefined) add('network_mode', shared, 'started');
  return [...found.values()];
}

type Waiting = Pick<Service, 'dependsOn' | 'healthcheck'>;

/** Says where services wait for each other in a circle, or for the health of one that has none. */
export function checkDependencies(file: ComposeFile, services: ReadonlyMap<string, Waiting>): void {
  for (const [name, { dependsOn }] of services) {
    for (const { service, condition } of dependsOn) {
      if (condition === 'healthy' && services.get(service)?.healthcheck === 'none') {
        file.fail(
          ['services', name, 'depends_on'],
          `waits until ${service} is healthy, which has no healthcheck`,
        );
      }
    }
  }
  const circle = circleIn(services);
  if (circle !== null) {
    file.fail(['services', circle[0] ?? '', 'depends_on'], `waits for itself: ${circle.join(' → ')}`);
  }
}

function circleIn(services: ReadonlyMap<string, Waiting>): readonly string[] | null {
  const done = new Set<string>();
  const follow = (name: string, path: readonly string[]): readonly string[] | null => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return null;
    for (const { service } of services.get(name)?.dependsOn ?? []) {
      const circle = follow(service, [...path, name]);
      if (circle !== null) return circle;
    }
    done.add(name);
    return null;
  };
  for (const name of services.keys()) {
    const circle = follow(name, []);
    if (circle !== null) return circle;
  }
  return null;
}
