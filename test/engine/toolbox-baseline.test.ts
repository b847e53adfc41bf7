// The baseline of the supervisor (`init --baseline`) in a real container: when it is whole, and what it costs.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containerOf } from '../../sandbox/engine/container.ts';
import { Engine } from '../../sandbox/engine/engine.ts';
import { EngineLink } from '../../sandbox/engine/engine-link.ts';
import { Connections } from '../../sandbox/supervised/connections.ts';
import type { Link } from '../../sandbox/supervised/link.ts';
import { attach } from '../../sandbox/supervised/supervised-sandbox.ts';
import type { Sandbox } from '../../sandbox/port.ts';
import { BaselineResponse } from '../../sandbox/protocol/responses.ts';
import { sh, specOf } from '../sandbox/conformance/harness.ts';
import { engineHarness, type EngineHarness } from '../support/engine-harness.ts';

describe('the baseline of the supervisor', () => {
  let harness: EngineHarness | null = null;
  beforeAll(async () => {
    harness = await engineHarness();
  });
  afterAll(() => harness?.close());

  /** Runs `use` in a container whose PID 1 listens beside its baseline. */
  async function started(use: (sandbox: Sandbox, link: Link) => Promise<void>): Promise<void> {
    if (harness === null) throw new Error('the harness is not there yet');
    const engine = new Engine(harness.endpoint);
    const spec = await specOf(harness);
    const image = await engine.inspectImage(spec.image.digest);
    const wanted = containerOf(spec, image.facts, false);
    const Cmd = [...(wanted.Cmd ?? []), '--listen', '4711'];
    try {
      const container = await engine.docker.createContainer({ ...wanted, Cmd });
      await container.start();
      const { Id, State } = await engine.inspectContainer(spec.name);
      const { name, diskMiB, network, baseline } = spec;
      const { volumes } = image;
      const link = new EngineLink(engine, { id: Id, name, startedAt: State.StartedAt, diskMiB, volumes });
      const facts = { image: image.facts, env: {}, network, baseline };
      const identity = { name, driver: 'engine', uid: Id, host: '', imageDigest: image.id, bootId: null };
      const sandbox = await attach(link, facts, identity);
      await use(sandbox, link);
      await sandbox.close();
    } finally {
      await harness.driver.destroy(spec.name);
    }
  }

  it('is whole before the sandbox is handed out, in a few MiB of its memory', async () => {
    await started(async (sandbox, link) => {
      const connections = new Connections(link, null);
      const { response } = await connections.use((connection) =>
        connection.exchange({ request: { op: 'baseline' }, response: BaselineResponse }),
      );
      connections.close();
      expect(response.entries).toBeGreaterThan(3_000);
      expect(response.ms).toBeLessThan(5_000);
      const rss = (await sh(sandbox, 'grep VmRSS /proc/1/status')).out;
      expect(Number(/\d+/.exec(rss)?.[0])).toBeLessThan(24 * 1024);
    });
  });

  it('listens beside it where it is told to, and closes what it took at once', async () => {
    await started(async (sandbox) => {
      const ask = `perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new("127.0.0.1:4711") or die $!; print defined(<$s>) ? "said" : "closed"'`;
      expect((await sh(sandbox, ask)).out).toBe('closed');
    });
  });
});
