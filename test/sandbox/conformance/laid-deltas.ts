// Conformance: a delta that is laid over a fresh sandbox makes the file system that it was taken of.
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { DeltaEntry } from '../../../domain/delta.ts';
import type { Sandbox } from '../../../sandbox/port.ts';
import { taken } from './deltas.ts';
import { sh, withSandbox, type Harness } from './harness.ts';

interface Laying {
  /** What the agent did. */
  readonly script: string;
  /** Prints what is to be the same on both sides. */
  readonly listing: string;
}

/** The entries of the delta, after it was laid as a verifier's is: what is deleted first, then the content. */
async function laid(harness: Harness, { script, listing }: Laying): Promise<readonly DeltaEntry[]> {
  return withSandbox(harness, 'debian', async (agent) => {
    expect(await sh(agent, script)).toMatchObject({ exitCode: 0, err: '' });
    await agent.endProcesses();
    const { delta, bytes } = await taken(agent);
    const { entries, refused } = delta.manifest;
    expect(refused).toEqual([]);
    const lay = async (verifier: Sandbox): Promise<void> => {
      const deleted = entries.filter(({ change }) => change === 'deleted');
      await verifier.removePaths(deleted.map(({ path }) => path));
      const tar = () => Readable.from([bytes]);
      const put = await verifier.putFiles(tar, { dir: '/', replace: false, owner: null });
      expect(put.refused).toEqual([]);
      const [here, there] = [await sh(verifier, listing), await sh(agent, listing)];
      expect(here.out).toBe(there.out);
      expect(here.out).not.toBe('');
    };
    await withSandbox(harness, 'debian', lay, { baseline: false });
    return entries;
  });
}

const told = (entries: readonly DeltaEntry[], path: string): readonly string[] =>
  entries.filter((entry) => entry.path === path).map(({ change, kind }) => `${change} ${kind}`);

const below = (paths: string): string =>
  `find ${paths} -printf "%p %y %m %U %G %l\\n" | sort; find ${paths} -type f -exec md5sum {} + | sort`;

export function laidDeltasConform(get: () => Harness): void {
  describe('deltas that are laid', () => {
    it('make the same file system over a fresh one', async () => {
      await laid(get(), {
        script: `rm -r /etc/apt; mkdir /etc/apt; echo 1 > /etc/apt/only; mkdir /work; echo 2 > /work/a; ln /work/a /work/b; ln -s a /work/c
          chmod 700 /etc/issue; chown 5:6 /etc/hostname /etc/shells; rm -r /usr/share/doc/tar; mv /etc/skel /etc/moved; cp -r /usr/share/perl5 /work/tree`,
        listing: `cd / && find . -xdev \\( -path ./proc -o -path ./sys -o -path ./dev -o -path ./opt/passband -o -path ./run \\) -prune -o \\( -type f -o -type l \\) -printf "%p %y %m %U %G %s %l\\n" | grep -vE "^./etc/(hosts|hostname|resolv.conf) " | sort | md5sum; md5sum /etc/apt/* /work/*`,
      });
    });

    it('hold a directory that took the place of a file, with what is in it', async () => {
      const entries = await laid(get(), {
        script: 'rm /etc/shells; mkdir -m 750 /etc/shells; echo 1 > /etc/shells/in',
        listing: below('/etc/shells'),
      });
      expect(told(entries, '/etc/shells').at(-1)).toMatch(/ directory$/);
      expect(told(entries, '/etc/shells/in')).toEqual(['added file']);
    });

    it('hold a file that took the place of a directory, and nothing of what was in it', async () => {
      const entries = await laid(get(), {
        script: 'rm -r /usr/share/perl5; echo 2 > /usr/share/perl5; rm -r /etc/skel; ln -s /tmp /etc/skel',
        listing: below('/usr/share/perl5 /etc/skel'),
      });
      expect(told(entries, '/usr/share/perl5')).toEqual(['deleted other', 'added file']);
      expect(told(entries, '/etc/skel')).toEqual(['deleted other', 'added symlink']);
      expect(entries.filter(({ path }) => path.startsWith('/usr/share/perl5/'))).toEqual([]);
    });

    it('hold a directory that was emptied and filled anew, and one that a link to it stands for', async () => {
      await laid(get(), {
        script:
          'rm -r /etc/apt; mkdir /etc/apt; echo 3 > /etc/apt/only; mv /etc/skel /skel; ln -s /skel /etc/skel',
        listing: below('/etc/apt /etc/skel /skel'),
      });
    });
  });
}
