// The network of a sandbox, read from inside: no interface but loopback has an address, and no route leads out.
import type { NetworkProof } from '../../domain/network.ts';
import { ProofResponse } from '../protocol/responses.ts';
import { recovering } from './recovery.ts';
import type { Supervised } from './supervised.ts';

/**
 * `denied` where nothing but loopback can carry anything, `open` where something else can, `unprovable` where the
 * sandbox shows no interfaces at all. Kernels with tunnel modules put devices without addresses into every network
 * namespace (tunl0, sit0): those lead nowhere.
 */
export async function proveNetwork(sandbox: Supervised, signal?: AbortSignal): Promise<NetworkProof> {
  const request = { op: 'proof', targets: [], timeoutMs: 1_000 };
  const { response } = await recovering(sandbox, 'network proof', (connection) =>
    connection.exchange({ request, response: ProofResponse, signal }),
  );
  const interfaces = (response.interfaces ?? []).map(({ name, addresses }) => ({
    name,
    addresses: addresses ?? [],
  }));
  const routes = response.routes ?? [];
  return {
    outcome: outcomeOf(sandbox.facts.network, interfaces, routes),
    interfaces,
    routes,
    probes: response.probes ?? [],
    at: new Date().toISOString(),
  };
}

function outcomeOf(
  network: 'deny' | 'as-declared',
  interfaces: NetworkProof['interfaces'],
  routes: readonly string[],
): NetworkProof['outcome'] {
  if (network === 'as-declared') return 'as-declared';
  if (interfaces.length === 0) return 'unprovable';
  const out = interfaces.some(({ name, addresses }) => name !== 'lo' && addresses.length > 0);
  return out || routes.some((route) => !/ dev lo$/.test(route)) ? 'open' : 'denied';
}
