// Conformance: a terminal's turns are done once each, are seen as they happen, and outlive their connection.
import { describe, expect, it } from 'vitest';
import type { Sandbox, TerminalOptions } from '../../../sandbox/port.ts';
import { recordingPath } from '../../../sandbox/port.ts';
import { readTar, sh, withSandbox, type Harness, type ImageKind } from './harness.ts';

const options: TerminalOptions = {
  user: null,
  columns: 100,
  rows: 30,
  cwd: null,
  env: { SEEN: 'yes' },
  limitBytes: 10_000,
};
const type = (keystrokes: string, durationMs = 500) => [{ keystrokes, durationMs }];
const open = (sandbox: Sandbox, change: Partial<TerminalOptions> = {}) =>
  sandbox.terminal({ ...options, ...change });

export function terminalConforms(get: () => Harness): void {
  describe('terminal', () => {
    it.each<ImageKind>(['debian', 'busybox'])(
      'shows what is typed and what comes of it, turn by turn (%s)',
      async (kind) => {
        await withSandbox(get(), kind, async (sandbox) => {
          const terminal = await open(sandbox);
          const first = await terminal.act(1, type('cd /bin; echo one-$((1+1)) $SEEN\n'), null);
          expect(first.observation.alive).toBe(true);
          expect(first.observation.screen).toContain('one-2 yes');
          expect(first.wallMs).toBeGreaterThanOrEqual(500);
          const second = await terminal.act(2, type('pwd\n'), null);
          expect(second.observation.screen).toContain('/bin');
          expect(second.observation.fresh ?? second.observation.screen).toContain('/bin');
          const key = await terminal.act(
            3,
            [...type('sleep 100\n', 300), ...type('C-c', 300), ...type('echo back\n')],
            null,
          );
          expect(key.observation.screen).toContain('^C');
          expect(key.observation.screen).toContain('back');
        });
      },
    );

    it('is dead where an agent that was at work keeps it from starting, and the sandbox lives', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        expect((await sh(sandbox, 'ln -sf passwd /etc/passwd')).exitCode).toBe(0);
        const terminal = await open(sandbox, { user: 'nobody', byAgent: true });
        const { observation } = await terminal.act(1, type('pwd\n'), null);
        expect(observation).toMatchObject({ alive: false });
        expect(observation.screen).toContain('/etc/passwd');
        expect(await sandbox.state()).toMatchObject({ kind: 'alive' });
      });
    });

    it('does a turn once: asked again it answers the same, from another worker too', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const terminal = await open(sandbox);
        const first = await terminal.act(1, type('echo x >> /tmp/typed\n'), null);
        expect(await terminal.act(1, type('echo x >> /tmp/typed\n'), null)).toEqual(first);
        const other = await get().otherDriver.open(sandbox.identity);
        const same = await open(other);
        expect(await same.act(1, type('echo x >> /tmp/typed\n'), null)).toEqual(first);
        const next = await same.act(2, type('wc -l /tmp/typed\n'), null);
        expect(next.observation.screen).toContain('1 /tmp/typed');
        await other.close();
      });
    });

    it('goes on with a turn whose connection is cut, and types nothing twice', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const terminal = await open(sandbox);
        setTimeout(() => get().outside.cut(), 400);
        const turn = await terminal.act(
          1,
          [...type('echo a >> /tmp/l\n', 1_000), ...type('echo b >> /tmp/l; cat /tmp/l\n', 500)],
          null,
        );
        expect(turn.observation.screen).toMatch(/\na\s*\nb/);
        expect((await sh(sandbox, 'cat /tmp/l')).out).toBe('a\nb\n');
      });
    });

    it('ends a turn at its time while a server that was started with & stays up (C22)', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const terminal = await open(sandbox);
        const server = 'sh -c "echo listening; exec sleep 300" & echo $! > /tmp/server\n';
        const turn = await terminal.act(1, type(server), null);
        expect(turn.wallMs).toBeLessThan(5_000);
        expect(turn.observation.screen).toContain('listening');
        const next = await terminal.act(2, type('kill -0 $(cat /tmp/server) && echo up-$((1+1))\n'), null);
        expect(next.observation.screen).toContain('up-2');
        expect((await sh(sandbox, 'cat /proc/$(cat /tmp/server)/comm')).out).toBe('sleep\n');
      });
    });

    it('ends the waiting when the budget is used up', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const terminal = await open(sandbox);
        const turn = await terminal.act(1, type('echo quick\n', 60_000), 1_000);
        expect(turn.wallMs).toBeGreaterThanOrEqual(900);
        expect(turn.wallMs).toBeLessThan(5_000);
        expect(turn.observation.screen).toContain('quick');
      });
    });

    it('says that a session is dead once its shell has ended', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const terminal = await open(sandbox);
        await terminal.act(1, type('exit\n'), null);
        expect((await terminal.act(2, type('echo after\n'), null)).observation.alive).toBe(false);
      });
    });

    it('is dead from the start for a user that is not there', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const terminal = await open(sandbox, { user: 'nobody-of-that-name' });
        const { observation } = await terminal.act(1, type('id\n'), null);
        expect(observation.alive).toBe(false);
        expect(observation.screen).toContain('nobody-of-that-name');
      });
    });

    it('is the image user in its home, leaves no variables of ours, and is recorded', async () => {
      await withSandbox(get(), 'user', async (sandbox) => {
        const terminal = await open(sandbox);
        const { observation } = await terminal.act(
          1,
          type('id -un; pwd; env | grep -cE "^(LOCPATH|TERMINFO|LD_)"\n'),
          null,
        );
        expect(observation.screen).toMatch(/app\s*\n\/home\/app\s*\n0/);
        let recording = '';
        await sandbox.getFiles({ paths: [recordingPath], maxBytes: 10_000_000 }, async (tar) => {
          recording = (await readTar(tar)).get(recordingPath.slice(1))?.content.toString() ?? '';
        });
        const [header, ...events] = recording
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown);
        expect(header).toMatchObject({ version: 2, width: 100, height: 30 });
        expect(events.length).toBeGreaterThan(0);
      });
    });

    it('bounds what it shows, and keeps up with endless output', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        const terminal = await open(sandbox);
        const flood = await terminal.act(1, type('seq 1 200000\n', 2_000), null);
        expect(Buffer.byteLength(flood.observation.screen)).toBeLessThanOrEqual(10_200);
        expect(Buffer.byteLength(flood.observation.fresh ?? '')).toBeLessThanOrEqual(10_200);
        const after = await terminal.act(2, type('C-c', 200), null);
        expect(after.observation.alive).toBe(true);
      });
    });
  });
}
