// Scripts: what is mended in the package, and what a look at the tests can tell before anything runs.
import { describe, expect, it } from 'vitest';
import { openPackage } from '../../tasks/open-package.ts';
import { packTask } from '../../tasks/package.ts';
import { stripCanary } from '../../tasks/text.ts';
import { findingsOf, readGood } from './task-folder.ts';

const reward = 'echo 1 > /logs/verifier/reward.txt\n';

async function packedFile(changes: Parameters<typeof readGood>[0], path: string) {
  const opened = await openPackage(Buffer.concat(await packTask(await readGood(changes)).toArray()));
  const bytes = await opened.readFile(path);
  return {
    text: bytes === null ? null : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes),
    executable: opened.files.find((file) => file.path === path)?.executable,
  };
}

describe('scripts of tests and solutions', () => {
  it.each([
    ['CRLF line ends', `#!/bin/bash\r\n${reward.replace('\n', '\r\n')}`, 'has CRLF line ends: mended'],
    ['a byte order mark', `\uFEFF#!/bin/bash\n${reward}`, 'has a byte order mark: mended'],
    ['no #! line', reward, 'has no #! line (now #!/bin/bash): mended'],
  ])('with %s are mended in the package, and it is said (C08)', async (_, text, said) => {
    const files = { 'tests/test.sh': { text, mode: 0o755 } };
    expect(await findingsOf(files)).toEqual([expect.stringContaining(`warning tests/test.sh:- - ${said}`)]);
    expect(await packedFile(files, 'tests/test.sh')).toEqual({
      text: `#!/bin/bash\n${reward}`,
      executable: true,
    });
  });

  it('without their exec bit get it in the package, and it is said (C08)', async () => {
    const files = { 'solution/solve.sh': { text: '#!/bin/bash\ntrue\n', mode: 0o644 } };
    expect(await findingsOf(files)).toEqual([
      expect.stringMatching(/^warning solution\/solve\.sh:- - has no exec bit: mended/),
    ]);
    expect((await packedFile(files, 'solution/solve.sh')).executable).toBe(true);
  });

  it('are mended, but data beside them is left as it is (C08)', async () => {
    const data = 'a,b\r\n1,2\r\n';
    expect(await packedFile({ 'tests/expected.csv': data }, 'tests/expected.csv')).toEqual({
      text: data,
      executable: false,
    });
    expect((await packedFile({ 'environment/start.sh': 'echo\r\n' }, 'environment/start.sh')).text).toBe(
      'echo\r\n',
    );
  });
});

describe('tests', () => {
  it('are an error where there is no test.sh', async () => {
    expect(await findingsOf({ 'tests/test.sh': null })).toEqual([
      expect.stringMatching(/^error tests\/test\.sh:- - is missing/),
    ]);
  });

  it.each([
    ['never name a reward file', 'pytest /tests/test_x.py\n', 'never names a reward file'],
    ['name the plural that nothing reads', 'echo "{}" > /logs/verifier/rewards.json\n', 'names rewards.json'],
  ])('that %s are named (C08)', async (_, text, said) => {
    const found = await findingsOf({ 'tests/test.sh': { text: `#!/bin/sh\n${text}`, mode: 0o755 } });
    expect(found).toEqual([expect.stringContaining(`warning tests/test.sh:- - ${said}`)]);
  });

  it('may name the reward file in a helper', async () => {
    expect(
      await findingsOf({
        'tests/test.sh': { text: '#!/bin/sh\npython3 /tests/grade.py\n', mode: 0o755 },
        'tests/grade.py': 'open("/logs/verifier/reward.json", "w").write("{}")\n',
      }),
    ).toEqual([]);
  });

  it.each([
    'pip install pytest==8.4',
    'python3 -m pip install -e .',
    'apt-get -y install curl',
    'curl -LsSf https://astral.sh/uv/install.sh | sh',
    'uvx -p 3.13 pytest',
    'git clone https://example.org/x.git',
    'npm ci',
  ])('that download are named with the line: %s (C08)', async (line) => {
    const found = await findingsOf({
      'tests/helper.sh': { text: `#!/bin/sh\n# pip install x\n${line}\n`, mode: 0o755 },
    });
    expect(found).toEqual([expect.stringMatching(/^warning tests\/helper\.sh:3 - downloads when it runs/)]);
  });

  it.each(['curl -s http://localhost:8080/health', 'pip install --no-index x.whl', '# apt-get install curl'])(
    'that stay on the machine are not: %s',
    async (line) => {
      expect(await findingsOf({ 'tests/helper.sh': { text: `#!/bin/sh\n${line}\n`, mode: 0o755 } })).toEqual(
        [],
      );
    },
  );
});

it('says that a task without a solution is unaudited, and plans it (C09)', async () => {
  const { task, solutionDigest, findings } = await readGood({ 'solution/solve.sh': null });
  expect(task.steps[0]?.solutionDir).toBeNull();
  expect(solutionDigest).toBeNull();
  expect(findings.map(({ reason }) => reason)).toEqual([expect.stringContaining('unaudited')]);
});

describe('the instruction', () => {
  it.each([
    ['<!-- canary GUID 1 -->\n\nDo it.\n', 'Do it.\n'],
    ['# BENCHMARK CANARY 1\n# canary 2\n\n\nDo it.\n', 'Do it.\n'],
    ['\n<!-- canary -->\nDo it.\n', 'Do it.\n'],
    ['# Title\nDo it, canary.\n', '# Title\nDo it, canary.\n'],
    ['Feed the canary.\n', 'Feed the canary.\n'],
    ['\nDo it.\n', '\nDo it.\n'],
  ])('of %j is %j to the agent', (text, expected) => {
    expect(stripCanary(text)).toBe(expected);
  });

  it('is an error where it is missing or no text, a warning where it is empty', async () => {
    expect(await findingsOf({ 'instruction.md': null })).toEqual(['error instruction.md:- - is missing']);
    expect(await findingsOf({ 'instruction.md': new Uint8Array([0xff]) })).toEqual([
      'error instruction.md:- - is not UTF-8 text',
    ]);
    expect(await findingsOf({ 'instruction.md': '<!-- canary -->\n' })).toEqual([
      expect.stringMatching(/^warning instruction\.md:- - is empty/),
    ]);
  });
});
