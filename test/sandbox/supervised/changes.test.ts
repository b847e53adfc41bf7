import { describe, expect, it } from 'vitest';
import { scriptedSandbox } from '../../support/scripted-supervisor.ts';

const nothing = { added: [], changed: [], deleted: [], refused: [], truncated: false };
const baseline = [{ entries: 3, ms: 1 }];
const withBaseline = { baseline: true };
const file = (path: string) => ({ path, kind: 'file', mode: 0o644, uid: 0, gid: 0, bytes: 9, target: null });
const sink = () => Promise.resolve();

/** Over its limit: what would be taken is looked at, and not taken. */
async function told(changes: object, stat: readonly (object | null)[]) {
  const { attached } = scriptedSandbox(
    { baseline, changes: [{ ...nothing, ...changes }], stat: [{ entries: stat }] },
    {},
    withBaseline,
  );
  const delta = await (await attached).takeDelta(0, sink);
  return {
    entries: delta.manifest.entries.map(({ path, change }) => [path, change]),
    refused: delta.manifest.refused,
    overLimit: delta.overLimit,
  };
}

describe('the changes that a supervisor tells', () => {
  it('are against a baseline that was seen whole before anything else is asked', async () => {
    const { attached, asked } = scriptedSandbox({ baseline, changes: [nothing] }, {}, withBaseline);
    const sandbox = await attached;
    expect(asked.map(({ op }) => op)).toEqual(['hello', 'baseline']);
    const delta = await sandbox.takeDelta(10, sink);
    expect(delta).toMatchObject({ overLimit: false, hasContent: false, manifest: { entries: [] } });
    expect(asked.map(({ op }) => op)).toContain('changes');
  });

  it('are an error of ours where the sandbox was made without one, which nobody waits for', async () => {
    const { attached, asked } = scriptedSandbox({});
    const sandbox = await attached;
    await expect(sandbox.takeDelta(10, sink)).rejects.toMatchObject({ failureClass: 'Unexpected' });
    expect(asked.map(({ op }) => op)).toEqual(['hello']);
  });

  it('leave out what is ours', async () => {
    const changes = { added: ['/work/a', '/.passband-recording.cast'], changed: ['/', '/opt/passband/x'] };
    expect((await told(changes, [file('/work/a')])).entries).toEqual([['/work/a', 'added']]);
  });

  it('hold a tree whose place something else took once as deleted and once as what is there', async () => {
    const { entries } = await told({ added: ['/etc/skel'], deleted: ['/etc/skel'] }, [file('/etc/skel')]);
    expect(entries).toEqual([
      ['/etc/skel', 'deleted'],
      ['/etc/skel', 'added'],
    ]);
  });

  it('name what has no name in JSON, and are over the limit where there are too many', async () => {
    const refused = [{ path: '/work/\\xff', why: 'its name is not UTF-8' }];
    const { overLimit, ...rest } = await told({ refused, truncated: true }, []);
    expect(rest).toEqual({ entries: [], refused });
    expect(overLimit).toBe(true);
  });

  it('are over the limit where their names alone outgrow a question', async () => {
    const added = Array.from({ length: 5_000 }, (_, at) => `/${'d'.repeat(3_200)}/${at}`);
    const batches: number[] = [];
    const { attached } = scriptedSandbox(
      {
        baseline,
        changes: [{ ...nothing, added }],
        stat: (request) => {
          const paths = request['paths'] as string[];
          batches.push(Buffer.byteLength(JSON.stringify(paths)));
          return { entries: paths.map(file) };
        },
      },
      {},
      withBaseline,
    );
    const delta = await (await attached).takeDelta(10 * 1024 ** 3, sink);
    expect(delta).toMatchObject({ overLimit: true, hasContent: false });
    expect(delta.manifest.entries).toHaveLength(5_000);
    expect(Math.max(...batches)).toBeLessThan(16 * 1024 ** 2);
    expect(batches.length).toBeGreaterThan(1);
  });

  it('are ExecBroken where PID 1 has no baseline and should', async () => {
    const { attached } = scriptedSandbox(
      { baseline: [{ ok: false, error: { kind: 'conflict', message: 'without --baseline' } }] },
      {},
      withBaseline,
    );
    await expect(attached).rejects.toMatchObject({ failureClass: 'ExecBroken' });
  });
});
