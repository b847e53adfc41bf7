// Where images come from: Dockerfiles and their contexts, prebuilt ones, compose files; and what no driver may have.
import { describe, expect, it } from 'vitest';
import { openPackage } from '../../tasks/open-package.ts';
import { packTask } from '../../tasks/package.ts';
import { findingsOf, readGood, readToml } from './task-folder.ts';

const dockerfile = (...lines: string[]): string => ['FROM debian:12', ...lines, ''].join('\n');

describe('what a Dockerfile copies', () => {
  it('is named with its line where it is not in the context', async () => {
    const files = {
      'environment/Dockerfile': dockerfile(
        'RUN true',
        'COPY --chown=1:1 app.py \\',
        '  gone.txt /app/',
        'ADD lost/ /x',
      ),
      'environment/app.py': '',
    };
    expect(await findingsOf(files)).toEqual([
      expect.stringMatching(
        /^warning environment\/Dockerfile:3 - copies gone\.txt, which is not in environment\//,
      ),
      expect.stringMatching(/^warning environment\/Dockerfile:5 - copies lost\//),
    ]);
  });

  it.each([
    'COPY app.py /app/',
    'COPY ./app.py data /app/',
    'COPY data/*.csv /app/',
    'COPY . /app',
    'COPY ["app.py", "with space.txt", "/app/"]',
    'COPY --from=build /nowhere /app',
    'COPY $SOURCE /app',
    'COPY link/deep.txt /app',
    'ADD https://example.org/x.tar /app/',
    'COPY <<EOF /app/x\nhello there\nEOF',
  ])('is not complained of where it is there, or not ours to know: %s', async (line) => {
    const files = {
      'environment/Dockerfile': dockerfile(line),
      'environment/app.py': '',
      'environment/with space.txt': '',
      'environment/data/a.csv': '',
      'environment/data/deep.txt': '',
      'environment/link': { linkTo: 'data' },
    };
    expect(await findingsOf(files)).toEqual([]);
  });

  it('is taken from the task’s root where only the root holds it, tests and solutions left out', async () => {
    const read = await readGood({
      'environment/Dockerfile': dockerfile('COPY environment/app.py src /app/'),
      'environment/app.py': 'print()\n',
      'src/main.c': 'int main;\n',
    });
    expect(read.task.image).toEqual({ kind: 'build', dir: '.', dockerfile: 'environment/Dockerfile' });
    expect(read.findings.map(({ file, line }) => [file, line])).toEqual([['environment/Dockerfile', 2]]);

    const opened = await openPackage(Buffer.concat(await packTask(read).toArray()));
    if (read.task.image.kind !== 'build') throw new Error('not built');
    const inContext = await openPackage(Buffer.concat(await opened.context(read.task.image).tar().toArray()));
    expect(inContext.files.map(({ path }) => path)).toEqual([
      'environment',
      'environment/Dockerfile',
      'environment/app.py',
      'instruction.md',
      'src',
      'src/main.c',
    ]);
  });

  it('may not be the tests or the solution, wherever the context is', async () => {
    const read = await readGood({ 'environment/Dockerfile': dockerfile('COPY tests/test.sh /hint') });
    expect(read.task.image).toMatchObject({ dir: 'environment' });
    expect(read.findings.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('may not hold tests'),
    ]);
  });

  it('needs a FROM', async () => {
    expect(await findingsOf({ 'environment/Dockerfile': 'RUN true\n' })).toEqual([
      expect.stringMatching(/^error environment\/Dockerfile:- - has no FROM/),
    ]);
  });
});

describe('an image', () => {
  it('is docker_image where the task names one, and the Dockerfile beside it is said to be unused', async () => {
    const read = await readToml('[environment]\ndocker_image = "local/base:1"\nbuild_timeout_sec = 60\n');
    expect(read.task.image).toEqual({ kind: 'prebuilt', reference: 'local/base:1' });
    expect(read.task.buildTimeoutSec).toEqual({ value: 60, setBy: 'task' });
    expect(read.findings.map(({ line }) => line)).toEqual([2]);
  });

  it('is an error where there is none', async () => {
    expect(await findingsOf({ 'environment/Dockerfile': null })).toEqual([
      expect.stringMatching(/^error environment\/Dockerfile:- - is missing/),
    ]);
  });
});

describe('compose', () => {
  const services = 'services:\n  main:\n    build: .\n  db:\n    image: postgres\n';

  it.each([
    ['docker-compose.yaml', services, true],
    ['docker-compose.yaml', 'services:\n  db: {image: x}\n', true],
    ['docker-compose.yml', services, true],
    ['docker-compose.yml', 'services:\n  web: {image: x}\n', false],
    ['docker-compose.yml', 'just: data\n', false],
    ['docker-compose.yml', 'broken: [yaml\n', false],
    ['docker-compose.yaml', 'just: data\n', false],
  ])('is needed by %s of %j beside a Dockerfile: %s', async (name, text, needed) => {
    const { task, findings } = await readGood({ [`environment/${name}`]: text });
    expect(task.needs).toEqual(needed ? ['compose'] : []);
    expect(findings).toHaveLength(needed ? 0 : 1);
  });

  it('is needed by a compose file alone, which then names main’s image', async () => {
    const files = (main: string) => ({
      'environment/Dockerfile': null,
      'environment/docker-compose.yml': `services: {${main} db: {image: x}}\n`,
    });
    const { task } = await readGood(files('main: {image: "local/base:1"},'));
    expect([task.needs, task.image]).toEqual([['compose'], { kind: 'prebuilt', reference: 'local/base:1' }]);
    expect(await findingsOf(files(''))).toEqual([
      expect.stringMatching(/^error environment\/docker-compose\.yml:- services\.main has no image/),
    ]);
  });
});

describe('what a task needs', () => {
  it.each([
    ['gpus = 1', ['gpu']],
    ['gpus = 0', []],
    ['tpu = {type = "v5", topology = "2x2"}', ['tpu']],
    ['os = "Windows"', ['windows']],
    ['mcp_servers = []', []],
    ['mcp_servers = [{name = "m", url = "http://m"}]', ['mcp']],
    ['skills_dir = "/skills"', ['skills']],
    ['network_mode = "allowlist"', ['allowlist']],
  ])('of %s is %j', async (line, needs) => {
    expect((await readToml(`[environment]\n${line}\n`)).task.needs).toEqual(needs);
  });

  it('is prior context where there is a trajectory.json', async () => {
    const { task } = await readGood({ 'trajectory.json': '{}' });
    expect(task.needs).toEqual(['prior-context']);
  });

  it('is read of a step’s tables too, with its place', async () => {
    const { needs } = await readGood({
      'task.toml': '[[steps]]\nname = "a"\nagent = {network_mode = "allowlist"}\n',
      'steps/a/instruction.md': 'Do a.\n',
    });
    expect(needs).toEqual([
      { need: 'allowlist', place: { file: 'task.toml', key: 'steps.0.agent.network_mode', line: 3 } },
    ]);
  });

  it('refuses a credential in a header, and a server without an address', async () => {
    const found = await findingsOf({
      'task.toml':
        '[[environment.mcp_servers]]\nname = "a"\nurl = "http://a"\nheaders = {Authorization = "Bearer x"}\n' +
        '[[environment.mcp_servers]]\nname = "b"\ntransport = "stdio"\n',
    });
    expect(found).toEqual([
      expect.stringMatching(/^error task\.toml:4 environment\.mcp_servers\.0\.headers\.Authorization /),
      expect.stringMatching(/^error task\.toml:5 environment\.mcp_servers\.1\.command /),
    ]);
  });
});
