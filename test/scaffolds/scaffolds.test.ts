// The registry, nop, and the oracle with its script run for real.
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { InputError } from '../../domain/errors.ts';
import { scaffoldNamed, scaffolds } from '../../scaffolds/index.ts';
import { oracle, oracleScript } from '../../scaffolds/oracle/index.ts';
import { scripted } from './fakes.ts';

describe('a scaffold', () => {
  it('is found by its name, and an unknown name is refused with those that there are', () => {
    expect(scaffolds.map(({ name }) => scaffoldNamed(name).name)).toStrictEqual([
      'bash',
      'nop',
      'oracle',
      'terminus-2',
    ]);
    expect(() => scaffoldNamed('terminus')).toThrow(InputError);
    expect(() => scaffoldNamed('terminus')).toThrow(
      'unknown scaffold "terminus": choose one of bash, nop, oracle, terminus-2',
    );
  });

  it.each(['oracle', 'nop'])('%s takes no options', (name) => {
    expect(scaffoldNamed(name).parseOptions({})).toStrictEqual({});
    expect(() => scaffoldNamed(name).parseOptions({ max_turns: 1 })).toThrow(
      `scaffold ${name}: unknown option max_turns`,
    );
  });

  it('that types says how large its terminal is, by its own options', () => {
    const terminus2 = scaffoldNamed('terminus-2');
    const usual = { columns: 160, rows: 40, limitBytes: 10_000 };
    expect(terminus2.terminal?.(terminus2.parseOptions({}))).toStrictEqual(usual);
    const options = terminus2.parseOptions({ tmux_pane_width: 80, tmux_pane_height: 24 });
    expect(terminus2.terminal?.(options)).toStrictEqual({ ...usual, columns: 80, rows: 24 });
  });
});

describe('nop', () => {
  it('touches neither port and is completed', async () => {
    const fake = scripted({});
    const end = await scaffoldNamed('nop').episode(
      { instruction: 'i', solutionEnv: {}, options: {} },
      fake.tools,
    );
    expect(end).toStrictEqual({ ending: 'completed', detail: null });
    expect([fake.asked, fake.acted, fake.ran]).toStrictEqual([[], [], []]);
    expect(fake.steps).toHaveLength(1);
  });
});

describe('the oracle', () => {
  const run = async (exitCode: number) => {
    const fake = scripted({ result: { exitCode, timedOut: false, output: 'log' } });
    const input = { instruction: 'i', solutionEnv: { KEY: 'v' }, options: {} };
    return { fake, end: await oracle.episode(input, fake.tools) };
  };

  it("runs the solution under the agent's clock alone, without questions of Debian, with its environment", async () => {
    const { fake, end } = await run(0);
    expect(fake.ran).toMatchObject([
      { env: { DEBIAN_FRONTEND: 'noninteractive', KEY: 'v' }, timeoutMs: null },
    ]);
    expect(fake.steps[1]).toMatchObject({ source: 'agent', observation: 'log' });
    expect(end).toStrictEqual({ ending: 'completed', detail: null });
  });

  it('is completed though the solution failed: its status is only detail', async () => {
    expect((await run(3)).end).toStrictEqual({
      ending: 'completed',
      detail: 'solve.sh exited with status 3',
    });
  });
});

describe("the oracle's script", () => {
  const roots: string[] = [];
  afterEach(async () => {
    for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true });
  });

  /** Runs it in a folder that stands for the sandbox's root. */
  async function solve(text: string, { mode = 0o644, bash = true, logs = true } = {}) {
    const root = await mkdtemp(join(tmpdir(), 'oracle-'));
    roots.push(root);
    await mkdir(join(root, 'solution'));
    await writeFile(join(root, 'solution/solve.sh'), text);
    await chmod(join(root, 'solution/solve.sh'), mode);
    await mkdir(join(root, 'bin'));
    for (const name of ['mkdir', 'sh', 'tail']) await symlink(`/usr/bin/${name}`, join(root, 'bin', name));
    const path = bash ? (process.env['PATH'] ?? '') : join(root, 'bin');
    if (!logs) await writeFile(join(root, 'logs'), 'no folder');
    const script = oracleScript
      .replaceAll('=/solution', `=${root}/solution`)
      .replaceAll('/logs/agent', `${root}/logs/agent`);
    const { code, stdout } = await new Promise<{ code: number; stdout: string }>((resolve) => {
      const child = execFile('/bin/sh', ['-c', script], { env: { PATH: path } }, (_error, out) => {
        resolve({ code: child.exitCode ?? -1, stdout: out });
      });
    });
    const log = logs ? await readFile(join(root, 'logs/agent/oracle.txt'), 'utf8') : '';
    return { code, stdout, log };
  }

  it('runs under bash where there is one, whatever shell the first line names, exec bit or not', async () => {
    const text = '#!/bin/sh\nx=(a b); echo "${x[1]}"; echo err >&2\n';
    expect(await solve(text)).toStrictEqual({ code: 0, stdout: 'b\nerr\n', log: 'b\nerr\n' });
  });

  it('runs under sh where there is no bash and no exec bit', async () => {
    expect(await solve('echo "${BASH_VERSION:-plain}"; exit 4', { bash: false })).toMatchObject({
      code: 4,
      log: 'plain\n',
    });
  });

  it('obeys a first line that names an interpreter of another kind', async () => {
    const text = '#!/usr/bin/env -S awk -f\nBEGIN { print 6 * 7 }\n';
    expect(await solve(text, { mode: 0o755 })).toMatchObject({ code: 0, log: '42\n' });
  });

  it('runs where the log cannot be written, and gives the status of the solution', async () => {
    expect(await solve('echo here; exit 5', { logs: false })).toMatchObject({ code: 5, stdout: 'here\n' });
  });
});
