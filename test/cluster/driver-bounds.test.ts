// What PID 1 keeps a pod within and what it tells of its node, on real nodes: whose doing an end was.
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { take, takeTurn } from '../../activities/verify/take.ts';
import { sh, specOf, withSandbox } from '../sandbox/conformance/harness.ts';
import { ownCluster } from '../support/cluster.ts';
import { clusterHarness, clusterPlatform, type ClusterHarness } from '../support/cluster-harness.ts';

let harness: ClusterHarness;
beforeAll(async () => {
  harness = await clusterHarness('passband-bounds');
  await harness.image('debian');
});
afterAll(async () => {
  await harness.close();
});

/** Of version 1, as the project's own nodes have it. */
const memoryCgroups = '/sys/fs/cgroup/memory/passband-cluster';

async function cgroupOfPod(uid: string): Promise<string> {
  const all = await readdir(memoryCgroups, { recursive: true });
  const found = all.find((name) => path.basename(name) === `pod${uid}`);
  if (found === undefined) throw new Error(`no cgroup of pod ${uid}`);
  return path.join(memoryCgroups, found);
}

/** Keeps what it was given until there is no more. */
const hog = `perl -e '$x = "a" x 400_000_000; print "fits"'; echo survived $?`;

describe('a pod', () => {
  it('that makes more files than it may is ended as its own doing (C40)', async () => {
    await withSandbox(
      harness,
      'debian',
      async (sandbox) => {
        const few = await sh(sandbox, 'mkdir /f; cd /f; seq 1 150000 | xargs touch; sleep 2; echo on');
        expect(few.out).toBe('on\n');
        expect(await sandbox.state()).toEqual({ kind: 'alive' });
        const gone = { kind: 'gone', cause: 'self', why: 'disk' };
        const many = sh(sandbox, 'cd /f; seq 150001 260000 | xargs touch; sleep 60', { timeoutMs: 90_000 });
        await expect(many).rejects.toMatchObject({ state: gone });
        expect(await sandbox.state()).toMatchObject(gone);
      },
      { diskMiB: 1_024 },
    );
  });

  it.runIf(ownCluster)(
    'whose node ends a process of it for memory that it had not used up is lost to the platform (C40)',
    async () => {
      await withSandbox(
        harness,
        'debian',
        async (sandbox) => {
          // What is around it runs out, as a node does: its own limit is far away.
          const around = await cgroupOfPod(sandbox.identity.uid);
          await writeFile(path.join(around, 'memory.limit_in_bytes'), String(200 * 1024 ** 2));
          const gone = { kind: 'gone', cause: 'platform', why: 'evicted' };
          await expect(sh(sandbox, `${hog}; sleep 60`)).rejects.toMatchObject({ state: gone });
          expect(await sandbox.state()).toMatchObject(gone);
        },
        { memoryMiB: 1_024 },
      );
    },
  );

  it('tells what a process that is out of memory takes with it (C40)', async () => {
    await withSandbox(harness, 'debian', (sandbox) => {
      expect(sandbox.memoryEnds).toBe(clusterPlatform.memoryEnds);
      return Promise.resolve();
    });
  });

  it('belongs to the first who takes it, whichever driver asks', async () => {
    const spec = await specOf(harness, 'debian', { baseline: false });
    const { signal } = new AbortController();
    const [one, other] = await Promise.all([harness.driver.create(spec), harness.otherDriver.create(spec)]);
    expect(one.identity).toEqual(other.identity);
    const taken = await Promise.all([one, other, one].map((sandbox) => take(sandbox, 'sandbox', signal)));
    expect(taken.filter((mine) => mine)).toHaveLength(1);
    const turns = await Promise.all([one, other, one].map((sandbox) => takeTurn(sandbox, 'tests', signal)));
    expect(turns.toSorted()).toEqual([1, 2, 3]);
    await harness.driver.destroy(spec.name);
  });
});
