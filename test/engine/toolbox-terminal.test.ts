// The toolbox's terminal in real images: what is typed arrives as it is, and an agent's havoc is no end of it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TerminalAction } from '../../domain/ports.ts';
import type { Sandbox, TerminalOptions } from '../../sandbox/port.ts';
import { sh, sha256, withSandbox, type Harness, type ImageKind } from '../sandbox/conformance/harness.ts';
import { engineHarness } from '../support/engine-harness.ts';

const options: TerminalOptions = {
  user: null,
  columns: 120,
  rows: 30,
  cwd: '/',
  env: {},
  limitBytes: 10_000,
};
const type = (keystrokes: string, durationMs = 300): TerminalAction => ({ keystrokes, durationMs });

interface Typist {
  /** Types and gives what is new on the terminal, or its screen. */
  (...actions: TerminalAction[]): Promise<string>;
}

describe('the terminal of the toolbox', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await engineHarness();
  });
  afterAll(() => harness.close());

  const inTerminal = (
    kind: ImageKind,
    use: (typed: Typist, sandbox: Sandbox) => Promise<void>,
    before = ':',
  ) =>
    withSandbox(harness, kind, async (sandbox) => {
      expect((await sh(sandbox, before)).exitCode).toBe(0);
      const terminal = await sandbox.terminal(options);
      let seq = 0;
      const typed: Typist = async (...actions) => {
        seq += 1;
        const { observation } = await terminal.act(seq, actions, null);
        return (observation.alive ? '' : 'DEAD ') + (observation.fresh ?? observation.screen);
      };
      await typed();
      await use(typed, sandbox);
    });

  it('has its first prompt before anything is typed', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      const terminal = await sandbox.terminal(options);
      const { observation } = await terminal.act(1, [], null);
      expect(observation).toMatchObject({ alive: true, fresh: null });
      expect(observation.screen).toContain('#');
    });
  });

  it('types an exact key name as that key, and anything else as it is', async () => {
    await inTerminal('debian', async (typed, sandbox) => {
      await typed(
        type('cat > /tmp/literal\n'),
        type('C-c\n'),
        type('Enter;\n'),
        type('-n -l x;'),
        type('Enter'),
      );
      await typed(type('$HOME ~ #{pane_id} %1 "\'\\ \t\n'), type('héllo ✓ 日本 😀\n'), type('C-d'));
      const { out } = await sh(sandbox, 'cat /tmp/literal');
      expect(out).toBe('C-c\nEnter;\n-n -l x;\n$HOME ~ #{pane_id} %1 "\'\\ \t\nhéllo ✓ 日本 😀\n');
    });
  });

  it('types 100 KB whole, with newlines as the keys that they are', async () => {
    await inTerminal('debian', async (typed, sandbox) => {
      const line = `${'0123456789 abc; $x "quoted" é'.repeat(4)}\n`;
      const text = line.repeat(Math.ceil(100_000 / line.length));
      await typed(
        type(`stty -echo; head -c ${Buffer.byteLength(text)} > /tmp/long\n`, 500),
        type(text, 3_000),
      );
      expect(sha256(Buffer.from((await sh(sandbox, 'cat /tmp/long')).out))).toBe(sha256(Buffer.from(text)));
    });
  });

  it('shows a flood by its first and last lines, and what comes after it as new', async () => {
    await inTerminal('debian', async (typed) => {
      const flood = await typed(type('seq 1 300000\n', 3_000));
      expect(flood).toMatch(
        /seq 1 300000\n1\n2\n3\n[^]*limited to 10000 bytes; \d+ bytes omitted[^]*\n300000\n/,
      );
      expect((await typed(type('echo next\n'))).trim()).toMatch(/^\S+# echo next\nnext\n\S+#$/);
    });
  });

  it.each<ImageKind>(['debian', 'busybox'])('leaves nothing of its own in the shell (%s)', async (kind) => {
    await inTerminal(kind, async (typed) => {
      const seen = await typed(
        type('/bin/busybox env || env\n'),
        type('set | grep -c -i -e passband -e tmux\n'),
      );
      expect(seen).toContain('TERM=xterm-256color');
      expect(seen).not.toMatch(/TMUX|LOCPATH|TERMINFO|PASSBAND/);
    });
  });

  it('starts in an image whose loader preloads what is broken and that has no locale', async () => {
    const breakIt = 'echo /nowhere.so > /etc/ld.so.preload; rm -r /usr/lib/locale/C.utf8';
    await inTerminal(
      'debian',
      async (typed) => expect(await typed(type('echo h\u00e9-$((1+1))\n'))).toContain('h\u00e9-2'),
      breakIt,
    );
  });

  it('goes on when its files are deleted and when there is no pid left', async () => {
    await inTerminal('debian', async (typed) => {
      await typed(type('rm -rf /opt/passband; for i in $(seq 400); do sleep 100 & done\n', 3_000));
      expect(await typed(type('C-c'), type('echo still-$((1+1))\n'))).toContain('still-2');
    });
  });

  it('wakes its tmux when an agent has stopped it, and finds it again when an agent has killed the client', async () => {
    const each = (signal: string, word: string) =>
      `for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | grep -q "[p]assband/tmux.*${word}" && kill -${signal} \${p#/proc/}; done; :`;
    await inTerminal('debian', async (typed, sandbox) => {
      await sh(sandbox, each('STOP', ''));
      expect(await typed(type('echo woken-$((1+1))\n', 3_000))).toContain('woken-2');
      await sh(sandbox, each('KILL', ' -C '));
      expect(await typed(type('echo found-$((1+1))\n', 1_000))).toContain('found-2');
    });
  });

  it('is dead once an agent has killed everything, and says so at once', async () => {
    await inTerminal('debian', async (typed) => {
      const begun = Date.now();
      expect(await typed(type('kill -9 -1\n', 60_000))).toMatch(/^DEAD /);
      expect(Date.now() - begun).toBeLessThan(20_000);
    });
  });
});
