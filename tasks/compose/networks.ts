// Names and networks: what services reach each other by, and what the one network of a pod cannot keep apart.
import { isIP } from 'node:net';
import { sharedPort, type ServicePort, type TaskServices } from '../../domain/services.ts';
import { parsePorts } from './amounts.ts';
import type { ComposeFile } from './compose-file.ts';
import { isTable, type Table } from './document.ts';
import type { ServiceTable } from './schema.ts';
import { asksNothing } from './keys.ts';

/** A name that a pod's host aliases take. */
const hostName = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

export interface NamedTable {
  readonly name: string;
  readonly table: ServiceTable;
}

/** Everything that services are called by, at the address that they all have, and the extra hosts of the file. */
export function hostsOf(file: ComposeFile, services: readonly NamedTable[]): TaskServices['hosts'] {
  const hosts = new Map<string, Set<string>>();
  const add = (address: string, name: string): void => {
    hosts.set(address, (hosts.get(address) ?? new Set()).add(name));
  };
  for (const { name, table } of services) {
    const own = name.toLowerCase();
    if (hostName.test(own)) add('127.0.0.1', own);
    else
      file.refuse(
        ['services', name],
        `the name ${name}`,
        'a pod’s hosts take letters, digits, dashes and dots',
      );
    const others = [
      table.container_name,
      table.hostname,
      ...Object.values(table.networks ?? {}).flatMap(({ aliases }) => aliases),
      ...table.links.map((link) => link.split(':')[1]),
    ];
    for (const other of others) {
      const lower = other?.toLowerCase() ?? '';
      if (hostName.test(lower) && lower !== 'localhost') add('127.0.0.1', lower);
    }
    table.extra_hosts.forEach((line, index) => {
      const [, host = '', address = ''] = /^([^:=]+)[:=]\[?([^\]]*)\]?$/.exec(line) ?? [];
      const at = ['services', name, 'extra_hosts', index];
      if (isIP(address) === 0)
        file.refuse(at, `extra_hosts ${line}`, 'an address is taken, and no host’s gateway');
      else if (!hostName.test(host.toLowerCase())) file.fail(at, `is no name and address: ${line}`);
      else add(address, host.toLowerCase());
    });
  }
  return [...hosts].map(([address, names]) => ({ address, names: [...names].sort() }));
}

/** The ports that a service says it listens on. */
export function portsOf(file: ComposeFile, { name, table }: NamedTable): ServicePort[] {
  const read = (key: 'expose' | 'ports'): ServicePort[] =>
    table[key].flatMap((text, index) => {
      const ports = parsePorts(text);
      if (ports === null) file.fail(['services', name, key, index], `is no port: ${text}`);
      return ports ?? [];
    });
  const all = [...read('expose'), ...read('ports')];
  return [...new Map(all.map((one) => [`${one.port}/${one.protocol}`, one])).values()];
}

export function checkPorts(
  file: ComposeFile,
  services: readonly { readonly name: string; readonly ports: readonly ServicePort[] }[],
): void {
  const shared = sharedPort(services);
  if (shared === null) return;
  const { port, services: both } = shared;
  file.refuse(
    ['services', both[1]],
    `two services listen on port ${port} (${both.join(', ')})`,
    'in one pod they would take it from each other',
  );
}

/** What keeps services apart, or gives one an address of its own. */
export function checkNetworks(
  file: ComposeFile,
  services: readonly NamedTable[],
  main: string,
  declared: Table,
): void {
  const tables = new Map(services.map(({ name, table }) => [name, table]));
  const used = new Set<string>();
  for (const { name, table } of services) {
    checkMode(file, name, table.network_mode);
    for (const [network, attached] of Object.entries(table.networks ?? {})) {
      used.add(network);
      for (const key of ['ipv4_address', 'ipv6_address', 'link_local_ips', 'mac_address'] as const) {
        if (attached[key] === undefined) continue;
        file.refuse(
          ['services', name, 'networks', network, key],
          key,
          'all services have the pod’s one address',
        );
      }
    }
  }
  for (const network of used) checkDeclared(file, network, declared);
  const ofMain = networksOf(tables, main);
  for (const { name } of services) {
    const own = networksOf(tables, name);
    if (name === main || own.size === 0 || [...own].some((network) => ofMain.has(network))) continue;
    const [owner, key] = ofMain.size === 0 ? [main, 'network_mode'] : [name, 'networks'];
    file.refuse(
      ['services', owner, key],
      `networks that keep ${main} from ${name}`,
      'in one pod it would reach it',
    );
  }
}

function checkMode(file: ComposeFile, name: string, mode: string | undefined): void {
  if (mode === undefined || /^(?:bridge|default|none|service:.+)$/.test(mode)) return;
  file.refuse(
    ['services', name, 'network_mode'],
    `network_mode ${mode}`,
    'a pod has a network of its own, and no other',
  );
}

function checkDeclared(file: ComposeFile, network: string, declared: Table): void {
  const table = declared[network];
  if (table === undefined && network !== 'default') {
    file.fail(['networks'], `has no ${network}, which a service is in`);
  }
  if (!isTable(table)) return;
  const at = ['networks', network];
  if (!asksNothing(table['external'])) {
    file.refuse([...at, 'external'], `external network ${network}`, 'there is nothing beside the task');
  }
  const driver = table['driver'];
  if (typeof driver === 'string' && !['bridge', 'default'].includes(driver)) {
    file.refuse([...at, 'driver'], `network driver ${driver}`, 'all services share the pod’s network');
  }
}

function networksOf(tables: ReadonlyMap<string, ServiceTable>, name: string, seen = 0): ReadonlySet<string> {
  const table = tables.get(name);
  const shared = /^service:(.+)$/.exec(table?.network_mode ?? '')?.[1];
  if (shared !== undefined && seen < tables.size) return networksOf(tables, shared, seen + 1);
  if (table?.network_mode === 'none') return new Set();
  return new Set(Object.keys(table?.networks ?? { default: null }));
}
