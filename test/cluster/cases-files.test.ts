// Cases of exec and file transfer that take more than one pod, or a look from outside: the rest is in the conformance suite.
import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox, TakenDelta } from '../../sandbox/port.ts';
import { noise, readTar, sh, sha256, specOf, tarOf, withSandbox } from '../sandbox/conformance/harness.ts';
import { clusterHarness, type ClusterHarness } from '../support/cluster-harness.ts';
import { ownCluster } from '../support/cluster.ts';
import { processesRunning } from '../support/left-processes.ts';

const limit = 64 * 1024 ** 2;
const artifact = (source: string) => ({ source, exclude: [], destination: null, service: null });

/** What is taken of these paths, and the tar of it. */
async function taken(sandbox: Sandbox, ...paths: string[]): Promise<{ delta: TakenDelta; tar: Buffer }> {
  let tar: Buffer = Buffer.alloc(0);
  const delta = await sandbox.takeArtifacts(paths.map(artifact), limit, async (stream) => {
    tar = await buffer(stream);
  });
  return { delta, tar };
}

describe('files and commands in pods', () => {
  let harness: ClusterHarness;
  beforeAll(async () => {
    harness = await clusterHarness('cases-files');
    await harness.image('debian');
  });
  afterAll(async () => {
    await harness.close();
  });

  it('has test.sh whole in every one of 8 pods when 64 uploads go to them at once (C16)', async () => {
    const content = noise(65_537, 16);
    const specs = await Promise.all(
      Array.from({ length: 8 }, () => specOf(harness, 'debian', { memoryMiB: 64, baseline: false })),
    );
    try {
      const sandboxes = await Promise.all(specs.map((spec) => harness.driver.create(spec)));
      await Promise.all(
        sandboxes.flatMap((sandbox) =>
          Array.from({ length: 8 }, (_, at) =>
            sandbox.putFiles(() => tarOf([{ header: { name: 'test.sh', mode: 0o755 }, content }]), {
              ...{ dir: `/tests-${at}`, replace: true, owner: 0 },
            }),
          ),
        ),
      );
      const seen = await Promise.all(
        sandboxes.map(
          async (sandbox) =>
            (await sh(sandbox, 'cat /tests-*/test.sh | wc -c; sha256sum /tests-*/test.sh')).out,
        ),
      );
      const sums = Array.from({ length: 8 }, (_, at) => `${sha256(content)}  /tests-${at}/test.sh\n`).join(
        '',
      );
      expect(seen).toEqual(specs.map(() => `${8 * content.length}\n${sums}`));
    } finally {
      await Promise.all(specs.map(({ name }) => harness.driver.destroy(name)));
    }
  });

  it('carries hostile names from one pod into a fresh one, as names and nothing else (C19)', async () => {
    const names = [
      ...[
        '-rf',
        '--checkpoint-action=exec=touch pwned',
        '$(touch pwned)',
        '`touch pwned`',
        ';touch pwned;',
        '|',
      ],
      ...[
        'a\nb',
        ' lead',
        'trail ',
        '...',
        '..\\..\\up',
        'C:\\x',
        '\u001b[2J',
        '\u202etxt.exe',
        '*',
        "it's",
        '"q"',
      ],
      ...['ü', 'e\u0301', 'n'.repeat(255), '%2e%2e%2fup', 'null', '__proto__', 'constructor'],
    ];
    const plant = [
      'mkdir -p /art/deep; cd /art; cat > /tmp/names; while IFS= read -r -d "" n; do printf %s "$n" > "./deep/$n"; done < /tmp/names',
      'ln -s /etc/shadow absolute; ln -s ../../etc climbs; ln -s deep one; ln -s one/.. two; ln -s two/climbs three',
      'echo in > hard1; ln hard1 hard2; mkfifo fifo; printf x > "$(printf "bad\\377name")"',
    ];
    await withSandbox(harness, 'debian', async (from) => {
      const planted = await from.run({
        ...{ id: 'plant', argv: ['/bin/bash', '-c', plant.join(' && ')], timeoutMs: 20_000 },
        stdin: Buffer.from(names.map((name) => `${name}\0`).join('')),
      });
      expect(Buffer.from(planted.stderr).toString()).toBe('');
      const { delta, tar } = await taken(from, '/art', '/none');
      expect(delta.manifest.missing).toEqual(['/none']);
      expect(delta.manifest.refused.map(({ path }) => path).toSorted()).toEqual([
        expect.stringMatching(/^\/art\/bad.+name$/),
        '/art/fifo',
      ]);
      const files = await readTar(Readable.from([tar]));
      for (const name of names) expect(files.get(`art/deep/${name}`)?.content.toString(), name).toBe(name);
      expect([...files.keys()].filter((path) => !path.startsWith('art'))).toEqual([]);
      const tree = `find /art ! -name "bad*" ! -type p -printf "%P %y %m %n %l\\0" | sort -z`;
      const was = (await sh(from, tree)).out;
      await withSandbox(harness, 'debian', async (into) => {
        await into.putFiles(() => Readable.from([tar]), { dir: '/', replace: false, owner: null });
        expect((await sh(into, tree)).out).toBe(was);
        const outside = 'find / -xdev -name "pwned*"; stat -c "%h %F" /etc/shadow /etc';
        expect((await sh(into, outside)).out).toMatch(/^1 regular file\n\d+ directory\n$/);
      });
    });
  });

  it('takes /tmp as an artifact while an archive of it is written into it, and ends (C21)', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      await sh(sandbox, 'for i in $(seq 200); do head -c 20000 /dev/urandom > /tmp/f$i; done');
      // Neither archive goes into the next one: however many rounds there are, /tmp stays under the limit.
      const archive = "tar czf /tmp/all.tgz -C / --exclude='all.tgz*' tmp 2>/dev/null";
      const again = `while :; do ${archive}; rm -f /tmp/all.tgz.*; cp /tmp/all.tgz /tmp/all.tgz.1; done`;
      await sandbox.start({ id: 'archiver', argv: ['/bin/sh', '-c', again] });
      await sh(sandbox, 'until test -e /tmp/all.tgz; do sleep 0.05; done');
      for (let turn = 0; turn < 3; turn += 1) {
        const { delta, tar } = await taken(sandbox, '/tmp');
        expect(delta).toMatchObject({ overLimit: false, hasContent: true });
        const files = await readTar(Readable.from([tar]));
        for (let at = 1; at <= 200; at += 1) expect(files.get(`tmp/f${at}`)?.content).toHaveLength(20_000);
      }
    });
  });

  it.runIf(ownCluster)(
    'ends a command at its limit when nobody can reach its pod: the node sees it gone (C25)',
    async () => {
      await withSandbox(harness, 'debian', async (sandbox) => {
        // A number of its own: pods are processes of this machine too.
        const command = `sleep 600.${Date.now()}`;
        const isThere = async (): Promise<boolean> => (await processesRunning(command)).length > 0;
        const argv = ['/bin/sh', '-c', `setsid ${command} & ${command}`];
        const running = sandbox.run({ id: 'late', argv, timeoutMs: 2_000 });
        const outcome = running.catch((error: unknown) => error);
        await expect.poll(isThere, { interval: 50, timeout: 10_000 }).toBe(true);
        const silence = harness.proxy.vanish();
        try {
          await expect.poll(isThere, { interval: 100, timeout: 10_000 }).toBe(false);
        } finally {
          silence.back();
        }
        // Cut off for that long it may have been given up; asked again by its id it says how it ended.
        await outcome;
        const ended = await sandbox.run({ id: 'late', argv, timeoutMs: 2_000 });
        expect(ended).toMatchObject({ timedOut: true, exitCode: 137, signal: 9 });
        await sleep(200);
        expect(await isThere()).toBe(false);
      });
    },
  );
});
