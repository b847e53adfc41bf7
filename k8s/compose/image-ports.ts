// Ports that services share by what their images say: known only once the images are there.
import { sharedPort } from '../../domain/services.ts';
import type { SandboxServices } from '../../sandbox/services/spec.ts';
import type { RegistryFacts } from '../images/registry.ts';

/**
 * Why the services cannot run in one pod, by the name under which a task file is refused for the same; null where they
 * can. EXPOSE counts where a service starts what its image says: under a command of its own it may be anything.
 */
export function portsInTheWay(
  { main, sidecars }: SandboxServices,
  images: ReadonlyMap<string, Pick<RegistryFacts, 'ports'>>,
): string | null {
  const shared = sharedPort([
    { name: 'main', ports: main.ports },
    ...sidecars.map(({ name, ports, startsImage }) => ({
      name,
      ports: [...ports, ...(startsImage ? (images.get(name)?.ports ?? []) : [])],
    })),
  ]);
  return shared === null
    ? null
    : `compose: two services listen on port ${shared.port} (${shared.services.join(', ')})`;
}
