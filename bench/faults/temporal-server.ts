// A Temporal server that can be ended and started again on its database, at an address that stays the same.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  startTemporal,
  type EmbeddedTemporal,
  type EmbeddedTemporalOptions,
} from '../../embedded/temporal.ts';
import { openTcpGate, type TcpGate } from './tcp-gate.ts';

export class TemporalServer {
  readonly #gate: TcpGate;
  readonly #options: EmbeddedTemporalOptions;
  #server: EmbeddedTemporal;

  private constructor(gate: TcpGate, options: EmbeddedTemporalOptions, server: EmbeddedTemporal) {
    this.#gate = gate;
    this.#options = options;
    this.#server = server;
  }

  /** `dir`: of its database. */
  static async start(dir: string, say: (line: string) => void): Promise<TemporalServer> {
    const options = { dir, binary: null, env: process.env, note: say };
    const server = await startTemporal(options);
    const gate = await openTcpGate();
    gate.lead(server.address);
    return new TemporalServer(gate, options, server);
  }

  /** HOST:PORT */
  get address(): string {
    return this.#gate.address;
  }

  /** Ends the server; what it holds lies in its database. */
  async end(how: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#gate.lead(null);
    process.kill(this.#server.pid, how);
    await this.#server.ended;
    await this.#server.stop();
  }

  /** Starts it again after a while, whether that is cut short or not. */
  async startAfter(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await sleep(ms, undefined, { signal });
    } finally {
      this.#server = await startTemporal(this.#options);
      this.#gate.lead(this.#server.address);
    }
  }

  async stop(): Promise<void> {
    await this.#gate.close();
    await this.#server.stop();
  }
}
