// What of a delta the verifier sees: each rule by its examples, what must go in, and properties over any delta.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeltaEntry, PristineFacts } from '../../domain/delta.ts';
import { withhold, type Withholding } from '../../domain/withhold.ts';
import { deltaEntry as entry } from '../support/delta-entry.ts';

const facts: PristineFacts = {
  path: [
    { dir: '/root/.local/bin', names: [] },
    { dir: '/usr/local/sbin', names: [] },
    { dir: '/usr/local/bin', names: ['pip'] },
    { dir: '/usr/bin', names: ['cat', 'git', 'python3'] },
  ],
  imports: [
    { dir: '/root/.local/lib/python3.11/site-packages', names: [] },
    { dir: '/usr/lib/python311.zip', names: [] },
    { dir: '/usr/lib/python3.11', names: ['json', 'os.py', 'shlex.py'] },
    { dir: '/usr/local/lib/python3.11/dist-packages', names: [] },
    { dir: '/usr/lib/python3/dist-packages', names: ['pytest', 'yaml'] },
  ],
  libraries: [
    { dir: '/usr/local/lib', names: [] },
    { dir: '/usr/lib/x86_64-linux-gnu', names: ['libc.so.6'] },
  ],
  homes: ['/root', '/home/dev'],
  workdir: '/work',
};

const judged = (
  entries: readonly DeltaEntry[],
  options: { solutionPaths?: readonly string[]; artifacts?: boolean } = {},
): Withholding =>
  withhold({
    manifest: { entries: [...entries], refused: [] },
    facts,
    solutionPaths: options.solutionPaths ?? [],
    artifacts: options.artifacts ?? false,
  });

const changed = { change: 'changed' } as const;
const deleted = { change: 'deleted', kind: 'other', mode: 0 } as const;
const link = (target: string) => ({ kind: 'symlink', target }) as const;

describe('what could act on the verifier by itself is withheld, each path under its rule', () => {
  it.each<[string, Partial<DeltaEntry>, string]>([
    ['/usr/bin/cat', changed, 'replaced-program'],
    ['/usr/bin/git', deleted, 'replaced-program'],
    ['/usr/lib/x86_64-linux-gnu/libc.so.6', changed, 'replaced-program'],
    ['/usr/lib/git-core/git-diff', changed, 'replaced-program'],
    ['/usr/lib/python3.11/json/decoder.py', changed, 'replaced-program'],
    ['/usr/lib/python3/dist-packages/pytest/__init__.py', changed, 'replaced-program'],
    ['/opt/venv/lib/python3.12/site-packages/numpy/core.py', changed, 'replaced-program'],
    ['/opt/venv/bin/anything', changed, 'replaced-program'],
    ['/work/.venv/bin/python3.12', changed, 'replaced-program'],
    ['/etc/alternatives/editor', { ...changed, ...link('/tmp/x') }, 'replaced-program'],
    ['/usr/bin', { ...changed, ...link('/tmp/bin') }, 'replaced-program'],
    ['/usr', deleted, 'replaced-program'],
    ['/usr/local/bin/cat', {}, 'shadowing'],
    ['/root/.local/bin/python3', {}, 'shadowing'],
    ['/usr/local/sbin', link('/tmp/bin'), 'shadowing'],
    ['/usr/local/lib/libc.so.6', {}, 'shadowing'],
    ['/usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libm.so.6', {}, 'shadowing'],
    ['/usr/lib/python311.zip', {}, 'shadowing'],
    ['/usr/lib/python3.11/pytest.py', {}, 'shadowing'],
    ['/usr/local/lib/python3.11/dist-packages/pytest/__init__.py', {}, 'shadowing'],
    ['/root/.local/lib/python3.11/site-packages/yaml.py', {}, 'shadowing'],
    ['/usr/lib/python3/dist-packages/pytest.so', {}, 'shadowing'],
    ['/usr/lib/python3/dist-packages/pytest/_more.py', {}, 'shadowing'],
    ['/usr/lib/python3.11/__pycache__/shlex.cpython-311.pyc', {}, 'shadowing'],
    ['/etc/ld.so.preload', {}, 'loader'],
    ['/etc/ld.so.conf.d/x.conf', {}, 'loader'],
    ['/etc/ld.so.cache', changed, 'loader'],
    ['/etc/nsswitch.conf', changed, 'loader'],
    ['/etc/profile', changed, 'shell-startup'],
    ['/etc/profile.d/x.sh', {}, 'shell-startup'],
    ['/etc/environment', changed, 'shell-startup'],
    ['/etc/bash.bashrc', changed, 'shell-startup'],
    ['/root/.bashrc', changed, 'shell-startup'],
    ['/home/dev/.profile', {}, 'shell-startup'],
    ['/home/dev/.zshenv', {}, 'shell-startup'],
    ['/usr/lib/python3/dist-packages/x.pth', {}, 'python-startup'],
    ['/usr/lib/python3.11/sitecustomize.py', {}, 'python-startup'],
    ['/work/usercustomize.py', {}, 'python-startup'],
    ['/conftest.py', {}, 'python-startup'],
    ['/work/conftest.py', {}, 'python-startup'],
    ['/pytest.ini', {}, 'python-startup'],
    ['/work/pyproject.toml', changed, 'python-startup'],
    ['/usr/pyvenv.cfg', {}, 'python-startup'],
    ['/usr/lib/python3/dist-packages/x-1.0.dist-info/entry_points.txt', {}, 'python-startup'],
    ['/work/.git/hooks/pre-commit', {}, 'git-config'],
    ['/work/.git/hooks', link('/tmp/hooks'), 'git-config'],
    ['/work/.git/config', changed, 'git-config'],
    ['/work/.git/modules/part/config', {}, 'git-config'],
    ['/work/part/.git', {}, 'git-config'],
    ['/srv/team.git/hooks/update', {}, 'git-config'],
    ['/root/.gitconfig', {}, 'git-config'],
    ['/etc/gitconfig', {}, 'git-config'],
    ['/srv/repo/hooks/post-receive', {}, 'git-config'],
    ['/usr/share/git-core/templates/hooks/post-checkout', {}, 'git-config'],
    ['/opt/passband/bin/supervisor', changed, 'own-path'],
    ['/opt', link('/tmp/opt'), 'own-path'],
    ['/tests/test.sh', {}, 'own-path'],
    ['/tests', link('/tmp/tests'), 'own-path'],
    ['/logs/verifier/reward.txt', {}, 'own-path'],
    ['/logs', link('/tmp/logs'), 'own-path'],
    ['/logs/artifacts/report.csv', {}, 'own-path'],
    ['/work/pipe', { kind: 'other' }, 'refused-entry'],
  ])('%s', (path, fields, rule) => {
    const { laid, withheld } = judged([entry(path, fields)]);
    expect(withheld).toEqual([{ path, rule }]);
    expect(laid).toEqual([]);
  });

  it.each<[string, Partial<DeltaEntry>]>([
    ['/work/node_modules/jest/index.js', changed],
    ['/work/web/node_modules/.bin/tsc', { ...changed, ...link('../typescript/bin/tsc') }],
    ['/srv/node_modules/chai/package.json', deleted],
    ['/work/node_modules', { ...changed, ...link('/tmp/node_modules') }],
    ['/work/.bin/run', changed],
    ['/usr/share/nodejs/ajv/index.js', changed],
    ['/usr/local/bundle/gems/rspec-core-3.13/lib/rspec.rb', changed],
    ['/var/lib/gems/3.1.0/gems/minitest/lib/minitest.rb', changed],
    ['/work/vendor/bundle/ruby/3.1.0/gems/rake/lib/rake.rb', changed],
    ['/root/.gem/ruby/3.1.0/x.rb', changed],
    ['/usr/local/go/src/testing/testing.go', changed],
    ['/usr/lib/go-1.22/src/testing/testing.go', changed],
    ['/go/pkg/mod/github.com/stretchr/testify/assert/assertions.go', changed],
    ['/usr/local/cargo/registry/src/index/serde/src/lib.rs', changed],
    ['/usr/local/rustup/toolchains/stable/lib/librustc.so', changed],
    ['/root/.cargo/registry/src/index/serde/src/lib.rs', changed],
    ['/root/.rustup/settings.toml', changed],
    ['/usr/share/maven/lib/maven-core.jar', changed],
    ['/opt/gradle-8.5/lib/gradle-core.jar', changed],
    ['/root/.m2/repository/junit/junit/4.13/junit-4.13.jar', changed],
    ['/root/.gradle/caches/modules-2/junit.jar', changed],
    ['/usr/share/java/junit4.jar', changed],
    ['/usr/share/perl5/Test/More.pm', changed],
    ['/home/dev/perl5/lib/perl5/Test/More.pm', changed],
    ['/opt/conda/etc/conda/activate.d/x.sh', changed],
    ['/home/dev/miniconda3/etc/profile.d/conda.sh', changed],
    ['/work/.venv/bin/activate', changed],
    ['/work/.venv/bin/flake8', changed],
    ['/work/venv/bin/pip3', deleted],
    ['/work/tools/bin/activate', changed],
  ])('%s: what a tool chain or a package manager installed in the image', (path, fields) => {
    expect(judged([entry(path, fields)]).withheld).toEqual([{ path, rule: 'replaced-program' }]);
    // A path that the solution changes is the task.
    expect(judged([entry(path, fields)], { solutionPaths: [path] }).withheld).toEqual([]);
  });

  it.each([
    '/root/.sqliterc',
    '/root/.psqlrc',
    '/root/.npmrc',
    '/home/dev/.yarnrc.yml',
    '/root/.pip/pip.conf',
    '/root/.config/pip/pip.conf',
    '/root/.pydistutils.cfg',
    '/root/.gdbinit',
    '/root/.irbrc',
    '/root/.Rprofile',
    '/root/.cargo/config.toml',
    '/root/.m2/settings.xml',
    '/root/.gradle/init.d/x.gradle',
    '/root/.config/go/env',
    '/tmp/home/.npmrc',
    '/etc/psqlrc',
    '/etc/npmrc',
  ])('%s: what a tool of a verifier reads when it starts', (path) => {
    expect(judged([entry(path)]).withheld).toEqual([{ path, rule: 'shell-startup' }]);
    expect(judged([entry(path)], { solutionPaths: [path] }).withheld).toEqual([]);
  });

  it.each([
    '/tmp/home/.local/bin/python3',
    '/tmp/home/.local/lib/python3.11/site-packages/pytest/__init__.py',
    '/tmp/home/.local/lib/python3.11/site-packages/yaml.py',
  ])('%s: what stands before the image in a home that the delta itself made', (path) => {
    expect(judged([entry(path)]).withheld).toEqual([{ path, rule: 'shadowing' }]);
  });

  it.each([
    ['hooks/post-receive', 'config'],
    ['config', 'objects/ab/cdef', 'refs/heads/main'],
  ])('withholds the %s of a repository of the image that the delta gives away', (path, ...others) => {
    const delta = [path, ...others].map((name) => entry(`/work/repo/${name}`, changed));
    const { withheld } = judged(delta);
    expect(withheld[0]).toEqual({ path: `/work/repo/${path}`, rule: 'git-config' });
  });

  it('withholds the hooks and the config of a bare repository under any name', () => {
    const paths = ['/srv/repo/HEAD', '/srv/repo/objects', '/srv/repo/config', '/srv/repo/hooks/update'];
    const { withheld } = judged(paths.map((path) => entry(path)));
    expect(withheld.map(({ path }) => path)).toEqual(['/srv/repo/config', '/srv/repo/hooks/update']);
  });

  it('withholds a hard link to a file that is withheld', () => {
    const cat = entry('/usr/local/bin/cat');
    const other = entry('/work/cat', { kind: 'hardlink', target: '/usr/local/bin/cat' });
    expect(judged([cat, other]).withheld).toEqual([
      { path: '/usr/local/bin/cat', rule: 'shadowing' },
      { path: '/work/cat', rule: 'shadowing' },
    ]);
  });

  it('lays a setuid file without the bit, and says so', () => {
    const { laid, withheld, restored } = judged([entry('/work/helper', { mode: 0o4755 })]);
    expect(laid.map(({ mode }) => mode)).toEqual([0o755]);
    expect(withheld).toEqual([{ path: '/work/helper', rule: 'special-bits' }]);
    // A second verification sees it with the bit.
    expect(restored?.map(({ mode }) => mode)).toEqual([0o4755]);
  });

  it('lays a setuid file as it is where the solution makes that very one', () => {
    const helper = entry('/work/helper', { mode: 0o4755 });
    const { laid, withheld, restored } = judged([helper], { solutionPaths: ['/work/helper'] });
    expect([laid, withheld, restored]).toEqual([[helper], [], null]);
  });
});

describe("what is the agent's work goes in", () => {
  it.each<[string, Partial<DeltaEntry>]>([
    ['/etc/nginx/nginx.conf', changed],
    ['/usr/local/bin/report', {}],
    ['/usr/bin/report', {}],
    ['/var/spool/cron/crontabs/root', {}],
    ['/etc/cron.d/backup', {}],
    ['/work/.git/objects/ab/cdef', {}],
    ['/work/.git/HEAD', changed],
    ['/work/.git/hooks/pre-commit.sample', {}],
    ['/usr/local/lib/python3.11/dist-packages/newpkg/__init__.py', {}],
    ['/usr/local/lib/python3.11/dist-packages/newpkg-1.0.dist-info/METADATA', {}],
    ['/usr/lib/python3/dist-packages/newpkg.py', {}],
    ['/usr/local/lib/libreport.so', {}],
    ['/work/model.pth', {}],
    ['/work/bin/tool', changed],
    ['/work/__pycache__/solution.cpython-311.pyc', {}],
    ['/work/old.txt', deleted],
    ['/work/node_modules/left-pad/index.js', {}],
    ['/work/src/index.js', changed],
    ['/work/package.json', changed],
    ['/work/.npmrc', changed],
    ['/work/go/main.go', changed],
    ['/work/gems/list.txt', changed],
    ['/work/conda/meta.yaml', changed],
    ['/work/pkg/mod/mod.go', changed],
    ['/work/src/hooks/useState.ts', changed],
    ['/work/src/config', changed],
    ['/work/hooks/pre-commit', changed],
    ['/usr/share/doc/note.txt', changed],
    ['/tmp/home/.local/bin/report', {}],
    ['/tmp/home/.local/lib/python3.11/site-packages/newpkg.py', {}],
    ['/root/.config/app/settings.toml', {}],
    ['/usr/bin', { ...changed, kind: 'directory', mode: 0o755 }],
    ['/usr/local/sbin', { kind: 'directory', mode: 0o755 }],
    ['/work/shared', { kind: 'directory', mode: 0o2775 }],
    ['/work/current', link('/work/releases/1')],
    ['/etc/passwd', changed],
  ])('%s', (path, fields) => {
    const { laid, withheld, restored } = judged([entry(path, fields)]);
    expect(withheld).toEqual([]);
    expect(laid).toEqual([entry(path, fields)]);
    expect(restored).toBeNull();
  });

  it.each([
    '/work/conftest.py',
    '/usr/bin/cat',
    '/root/.bashrc',
    '/work/.git/hooks/pre-commit',
    '/etc/ld.so.preload',
  ])('%s, where the solution changes that very path', (path) => {
    expect(judged([entry(path, changed)], { solutionPaths: [path] }).withheld).toEqual([]);
  });

  it.each(['/tests/test.sh', '/logs/verifier/reward.txt', '/opt/passband/bin/supervisor'])(
    'but never %s, whatever the solution does',
    (path) => {
      expect(judged([entry(path)], { solutionPaths: [path] }).withheld).toEqual([{ path, rule: 'own-path' }]);
    },
  );

  it('but no compiled Python of the image, even where the solution leaves the same file', () => {
    const path = '/usr/lib/python3.11/__pycache__/os.cpython-311.pyc';
    expect(judged([entry(path)], { solutionPaths: [path] }).withheld).toEqual([{ path, rule: 'shadowing' }]);
  });

  it('takes /logs/artifacts where artifacts are handed over', () => {
    const path = '/logs/artifacts/report.csv';
    expect(judged([entry(path)], { artifacts: true }).laid).toEqual([entry(path)]);
  });
});

describe('what a second verification sees', () => {
  it('is everything but what every verifier wipes', () => {
    const entries = [
      entry('/usr/local/bin/cat'),
      entry('/logs/app.log'),
      entry('/tests/test.sh'),
      entry('/logs/verifier/reward.txt'),
      entry('/work/out.txt'),
      entry('/usr/bin/git', deleted),
      entry('/work/pipe', { kind: 'other' }),
    ];
    expect(judged(entries).restored?.map(({ path }) => path)).toEqual([
      '/usr/local/bin/cat',
      '/logs/app.log',
      '/work/out.txt',
      '/usr/bin/git',
    ]);
  });

  it.each(['/tests/x', '/logs/verifier/reward.json', '/usr/lib/python3.11/__pycache__/os.cpython-311.pyc'])(
    'is nothing more where only %s is withheld: no second sandbox is spent on it',
    (path) => {
      expect(judged([entry(path)]).restored).toBeNull();
    },
  );
});

describe('over any delta', () => {
  const segment = fc.constantFrom(
    'usr',
    'bin',
    'lib',
    'work',
    'etc',
    'tests',
    'logs',
    '.git',
    'hooks',
    'cat',
    'x.py',
    'x',
  );
  const anyEntry = fc
    .record({
      path: fc.array(segment, { minLength: 1, maxLength: 5 }).map((parts) => `/${parts.join('/')}`),
      change: fc.constantFrom('added' as const, 'changed' as const, 'deleted' as const),
      kind: fc.constantFrom('file' as const, 'directory' as const, 'symlink' as const, 'other' as const),
      mode: fc.integer({ min: 0, max: 0o7777 }),
    })
    .map((fields) => entry(fields.path, fields));
  const anyDelta = fc.uniqueArray(anyEntry, { selector: ({ path }) => path, maxLength: 20 });

  it('lays or withholds every path, and no path is both but for its special bits', () => {
    fc.assert(
      fc.property(anyDelta, fc.array(fc.nat(19)), (entries, picks) => {
        const solutionPaths = picks.flatMap((at) => entries[at]?.path ?? []);
        const { laid, withheld } = judged(entries, { solutionPaths });
        const out = new Set(withheld.filter(({ rule }) => rule !== 'special-bits').map(({ path }) => path));
        const into = new Set(laid.map(({ path }) => path));
        expect([...into].filter((path) => out.has(path))).toEqual([]);
        expect(new Set([...into, ...out])).toEqual(new Set(entries.map(({ path }) => path)));
      }),
    );
  });

  it('never lays a path of ours, a device, or a file with setuid or setgid that is not the solution’s', () => {
    fc.assert(
      fc.property(anyDelta, fc.array(fc.nat(19)), (entries, picks) => {
        const solutionPaths = picks.flatMap((at) => entries[at]?.path ?? []);
        const { laid } = judged(entries, { solutionPaths });
        for (const one of laid) {
          expect(one.path).not.toMatch(/^\/(tests|logs)(\/|$)/);
          expect(one.kind === 'other' && one.change !== 'deleted').toBe(false);
          const free = one.kind === 'directory' || solutionPaths.includes(one.path);
          expect(free || one.change === 'deleted' || (one.mode & 0o6000) === 0).toBe(true);
        }
      }),
    );
  });

  it('lays no less where the solution changes more', () => {
    fc.assert(
      fc.property(anyDelta, (entries) => {
        const alone = judged(entries).laid.map(({ path }) => path);
        const exempt = judged(entries, { solutionPaths: entries.map(({ path }) => path) }).laid;
        const all = new Set(exempt.map(({ path }) => path));
        expect(alone.filter((path) => !all.has(path))).toEqual([]);
      }),
    );
  });
});
