// The shared shell, run for real: what goes from one call to the next, under bash and under plain shells.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { shellCommand } from '../../../scaffolds/bash/shell.ts';

const roots: string[] = [];
afterEach(async () => {
  for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true });
});

interface Shell {
  readonly root: string;
  readonly call: (command: string) => Promise<{ readonly code: number; readonly output: string }>;
}

/** Calls in a folder that stands for the work directory, with the state beside it; without bash, sh alone is there. */
async function openShell(kind: 'bash' | 'sh' = 'bash', env: Record<string, string> = {}): Promise<Shell> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'shell-')));
  roots.push(root);
  await mkdir(join(root, 'shm'));
  await mkdir(join(root, 'work'));
  await mkdir(join(root, 'bin'));
  for (const name of ['sh', 'env', 'id', 'cat', 'mkdir', 'rmdir', 'sleep'])
    await symlink(`/usr/bin/${name}`, join(root, 'bin', name));
  const path = kind === 'bash' ? (process.env['PATH'] ?? '') : join(root, 'bin');
  const call: Shell['call'] = async (command) => {
    const { argv, stdin } = shellCommand(command, { timeoutMs: 1_000, outputLimitBytes: 1_000 });
    const [program = '', ...words] = argv.map((word) => word.replace('/dev/shm', `${root}/shm`));
    return await new Promise((resolve) => {
      const options = { cwd: join(root, 'work'), env: { PATH: path, HOME: '/home/u', ...env } };
      const child = execFile(`/usr/bin/${program}`, words, options, (_error, stdout) => {
        resolve({ code: child.exitCode ?? -1, output: stdout });
      });
      child.stdin?.end(stdin);
    });
  };
  return { root, call };
}

const after = async ({ call }: Shell, ...commands: readonly string[]): Promise<string> => {
  let output = '';
  for (const command of commands) ({ output } = await call(command));
  return output;
};

describe.each(['bash', 'sh'] as const)('under %s', (kind) => {
  it('gives both streams in order, and the exit status', async () => {
    const shell = await openShell(kind);
    expect(await shell.call('echo a; echo b >&2; echo c; (exit 3)')).toEqual({
      code: 3,
      output: 'a\nb\nc\n',
    });
    expect((await shell.call('true')).code).toBe(0);
  });

  it('goes on in the directory, and back with cd -', async () => {
    const shell = await openShell(kind);
    const { root } = shell;
    expect(await after(shell, 'mkdir "d x" && cd "d x"', 'pwd')).toBe(`${root}/work/d x\n`);
    expect(await after(shell, 'cd - >/dev/null; pwd')).toBe(`${root}/work\n`);
  });

  it('says so where the directory is gone meanwhile', async () => {
    const shell = await openShell(kind);
    const output = await after(shell, 'mkdir e && cd e', 'rmdir ../e', 'pwd');
    expect(output).toBe(
      `the directory ${shell.root}/work/e is gone: this is ${shell.root}/work\n${shell.root}/work\n`,
    );
    expect(await after(shell, 'pwd')).toBe(`${shell.root}/work\n`);
  });

  it('keeps variables, exported or not, whatever they hold, and forgets what was unset', async () => {
    const shell = await openShell(kind, { GIVEN: 'by the image' });
    await shell.call(`A='two\nlines "and" it'\\''s $HOME'; export B=b; unset GIVEN`);
    expect(
      await after(shell, 'echo "$A"; env | while read -r l; do case $l in B=*) echo "$l";; esac; done'),
    ).toBe(`two\nlines "and" it's $HOME\nB=b\n`);
    expect(await after(shell, 'echo "${GIVEN-none}"')).toBe('none\n');
  });

  it('keeps umask and options, and goes on after exit, a failed set -e and a syntax error', async () => {
    const shell = await openShell(kind);
    expect(await after(shell, 'umask 027; set -f', 'umask; echo *')).toBe('0027\n*\n');
    expect(await shell.call('X=1; exit 4')).toMatchObject({ code: 4 });
    expect(await shell.call('set -e; Y=2; false; echo never')).toEqual({ code: 1, output: '' });
    expect(await shell.call('false; echo never')).toEqual({ code: 1, output: '' });
    expect(await after(shell, 'set +e', 'false; echo on')).toBe('on\n');
    expect((await shell.call('if then')).code).not.toBe(0);
    expect(await after(shell, 'echo "$X$Y"')).toBe('12\n');
  });

  it('has no stdin, and no parameters of ours', async () => {
    const shell = await openShell(kind);
    expect(await after(shell, 'cat; echo "$#"', 'set -u; echo "${1-none}"')).toBe('none\n');
    expect(
      await after(shell, 'set | while read -r l; do case $l in __passband_c*) echo "$l";; esac; done'),
    ).toBe('');
  });

  it('runs a command of any size, with every kind of quote, heredocs and no line break at its end', async () => {
    const shell = await openShell(kind);
    const long = 'x'.repeat(300_000);
    expect(await after(shell, `cat <<'E' >f\n${long}\nE\ncat f`)).toBe(`${long}\n`);
    expect(await after(shell, `printf '%s|' "it's" '"' \\\\ 'a\tb'`)).toBe(`it's|"|\\|a\tb|`);
  });

  it('is the old state again where a call is killed', async () => {
    const shell = await openShell(kind);
    expect(await after(shell, 'K=1', 'K=2; kill -9 $$', 'echo "$K"')).toBe('1\n');
  });

  it('says so where the state cannot be written, and is the old one', async () => {
    const shell = await openShell(kind);
    await shell.call('F=old');
    const { uid } = userInfo();
    await mkdir(join(shell.root, 'shm', `.passband-shell-${uid}.new`));
    expect(await shell.call('F=new; (exit 5)')).toEqual({
      code: 5,
      output: `the state of this shell could not be kept: no room in ${shell.root}/shm?\n`,
    });
    expect(await after(shell, 'echo "$F"')).toContain('old\n');
  });

  it('lives with a PATH that leads nowhere', async () => {
    const shell = await openShell(kind);
    expect(
      await after(shell, 'PATH=/nowhere; Z=1', 'echo "$Z"; PATH=/usr/bin', 'cat /dev/null && echo back'),
    ).toBe('back\n');
  });
});

describe('under bash', () => {
  it('keeps functions, arrays, aliases and shopt', async () => {
    const shell = await openShell();
    await shell.call(`f() { echo "f $1"; }; g() { f x; }; export -f g; a=(1 "2 3"); declare -A m=([k]=v)`);
    expect(await after(shell, 'f y; echo "${a[1]} ${m[k]}"; declare -F f g; declare -pF g')).toBe(
      'f y\n2 3 v\nf\ng\ndeclare -fx g\n',
    );
    expect(await after(shell, 'shopt -s expand_aliases extglob; alias hi="echo hello"', 'hi')).toBe(
      'hello\n',
    );
    expect(await after(shell, 'readonly R=1', 'R=2; echo "$R"')).toContain('R: readonly variable');
  });

  it('is not misread for an alias of a word that the state is written in', async () => {
    const shell = await openShell();
    const aliases = 'alias command=false declare=false umask=false printf=false';
    await shell.call(
      `mkdir d; cd d; V=1; umask 027; h() { echo "h $V"; }; shopt -s expand_aliases; ${aliases}`,
    );
    expect(await after(shell, 'pwd; h; \\umask; printf x || echo aliased')).toBe(
      `${shell.root}/work/d\nh 1\n0027\naliased\n`,
    );
  });

  it('keeps directory and umask where the rest cannot be read back', async () => {
    const shell = await openShell();
    await after(shell, 'mkdir d; cd d; umask 027');
    const { uid } = userInfo();
    const file = join(shell.root, 'shm', `.passband-shell-${uid}`);
    const lines = (await readFile(file, 'utf8')).split('\n');
    const at = lines.findIndex((line) => line.startsWith('declare '));
    await writeFile(file, [...lines.slice(0, at), 'if then', ...lines.slice(at)].join('\n'));
    expect(await after(shell, 'pwd; umask')).toBe(`${shell.root}/work/d\n0027\n`);
  });

  it('traces the commands alone, in the next calls too', async () => {
    const shell = await openShell();
    expect(await after(shell, 'set -x; :', 'echo a')).toBe('++ echo a\na\n');
  });

  it('keeps the state where the command has an exit trap of its own', async () => {
    const shell = await openShell();
    expect(await after(shell, "T=1; trap 'echo bye' EXIT")).toBe('bye\n');
    expect(await after(shell, 'echo "$T"')).toBe('1\n');
  });
});
