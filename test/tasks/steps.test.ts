// Tasks of several steps: what each inherits, where its folders are, and what a step may be called.
import { describe, expect, it } from 'vitest';
import { findingsOf, readGood, type FileSpec } from './task-folder.ts';

const script = { text: '#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n', mode: 0o755 };

const step = (name: string, more: Record<string, FileSpec> = {}): Record<string, FileSpec> => ({
  [`steps/${name}/instruction.md`]: `Do ${name}.\n`,
  [`steps/${name}/solution/solve.sh`]: script,
  ...more,
});

const multi = (toml: string, files: Record<string, FileSpec>): Record<string, FileSpec> => ({
  'instruction.md': null,
  'solution/solve.sh': null,
  'task.toml': toml,
  ...files,
});

describe('what a step inherits', () => {
  it('is the verifier’s timeout of the task, unless the step says its own (C06)', async () => {
    const { task } = await readGood(
      multi(
        '[agent]\ntimeout_sec = 60\nuser = "dev"\n[verifier]\ntimeout_sec = 1200\nenv = {A = "1", B = "1"}\n' +
          '[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n' +
          'verifier = {timeout_sec = 700, env = {B = "2"}}\nagent = {timeout_sec = 5, user = "root"}\n',
        { ...step('a'), ...step('b') },
      ),
    );
    expect(task.multiStep).toBe(true);
    expect(task.steps).toMatchObject([
      {
        verifierSec: { value: 1200, setBy: 'task' },
        agentSec: { value: 60, setBy: 'task' },
        agentUser: 'dev',
        verifierEnv: { A: '1', B: '1' },
      },
      {
        verifierSec: { value: 700, setBy: 'task' },
        agentSec: { value: 5, setBy: 'task' },
        agentUser: 'root',
        verifierEnv: { A: '1', B: '2' },
      },
    ]);
  });

  it('is our default where neither says one (C06)', async () => {
    const { task } = await readGood(multi('[[steps]]\nname = "a"\n', step('a')));
    expect(task.steps[0]?.verifierSec).toEqual({ value: 600, setBy: 'default' });
  });

  it('are the artifacts of the task, with its own after them', async () => {
    const { task } = await readGood(
      multi('artifacts = ["/a"]\n[[steps]]\nname = "s"\nartifacts = ["/b"]\n', step('s')),
    );
    expect(task.steps[0]?.artifacts.map(({ source }) => source)).toEqual(['/a', '/b']);
  });
});

describe('the folders of a step', () => {
  it('lay its own tests over the task’s, and have its workdir', async () => {
    const { task } = await readGood(
      multi('multi_step_reward_strategy = "final"\n[[steps]]\nname = "a"\nmin_reward = 0.5\n', {
        ...step('a'),
        'steps/a/tests/test.sh': script,
        'steps/a/workdir/setup.sh': script,
      }),
    );
    expect(task.rewardStrategy).toBe('final');
    expect(task.steps[0]).toMatchObject({
      testsDirs: ['tests', 'steps/a/tests'],
      solutionDir: 'steps/a/solution',
      workdirDir: 'steps/a/workdir',
      minReward: 0.5,
    });
  });

  it('may be the tests and the solution at the root for all steps', async () => {
    const { task, findings } = await readGood(
      multi('[[steps]]\nname = "01-load"\n[[steps]]\nname = "_clean"\nmin_reward = {speed = 0.2}\n', {
        'solution/solve.sh': script,
        'steps/01-load/instruction.md': 'Load.\n',
        'steps/_clean/instruction.md': 'Clean.\n',
      }),
    );
    expect(findings).toEqual([]);
    expect(task.steps.map(({ name, testsDirs, solutionDir }) => [name, testsDirs, solutionDir])).toEqual([
      ['01-load', ['tests'], 'solution'],
      ['_clean', ['tests'], 'solution'],
    ]);
    expect(task.steps[1]?.minReward).toEqual({ speed: 0.2 });
  });

  it('are errors where an instruction or a test.sh is missing', async () => {
    const found = await findingsOf(
      multi('[[steps]]\nname = "a"\n', { 'tests/test.sh': null, 'steps/a/solution/solve.sh': script }),
    );
    expect(found).toEqual([
      'error steps/a/instruction.md:- - is missing',
      expect.stringMatching(/^error steps\/a\/tests\/test\.sh:- - is missing/),
    ]);
  });

  it('are said where no [[steps]] names them, and where a step has no solution', async () => {
    const found = await findingsOf(
      multi('[[steps]]\nname = "a"\n', {
        'steps/a/instruction.md': 'Do a.\n',
        'steps/old/instruction.md': 'Do old.\n',
      }),
    );
    expect(found).toEqual([
      expect.stringMatching(/^warning steps\/old:- - is not used/),
      expect.stringMatching(/^warning steps:- - no solution for a: .*unaudited/),
    ]);
  });
});

describe('the name of a step', () => {
  it.each(['a/b', '..', 'con', 'x?', 'trail.', 'tab\\there'])('may not be %j', async (name) => {
    const found = await findingsOf(multi(`[[steps]]\nname = '${name}'\n`, {}));
    expect(found).toContainEqual(
      expect.stringMatching(/^error task\.toml:2 steps\.0\.name must be a folder name/),
    );
  });

  it('is unique whatever its case', async () => {
    const found = await findingsOf(
      multi('[[steps]]\nname = "load"\n[[steps]]\nname = "LOAD"\n', { ...step('load'), ...step('LOAD') }),
    );
    expect(found).toEqual([
      expect.stringMatching(/^error task\.toml:4 steps\.1\.name is the name of another step too: load/),
    ]);
  });
});

describe('keys that public multi-step tasks hold', () => {
  it('are warnings that say what happens instead', async () => {
    const found = await findingsOf(
      multi('[[steps]]\nname = "a"\ndependencies = []\ninherit_prior_session = true\n', step('a')),
    );
    expect(found).toEqual([
      expect.stringMatching(/^warning task\.toml:3 steps\.0\.dependencies .*order/),
      expect.stringMatching(/^warning task\.toml:4 steps\.0\.inherit_prior_session .*conversation/),
    ]);
  });
});

it('refuses as unsupported what only some steps ask of the verifier', async () => {
  const found = await findingsOf(
    multi(
      '[[steps]]\nname = "a"\nverifier = {environment_mode = "shared"}\n[[steps]]\nname = "b"\n' +
        'verifier = {environment_mode = "separate"}\n[[steps]]\nname = "c"\n',
      { ...step('a'), ...step('b'), ...step('c'), 'steps/c/tests/Dockerfile': 'FROM debian:12\n' },
    ),
  );
  expect(found).toEqual([
    expect.stringMatching(/^error task\.toml:8 steps\.2\.name has a verifier image of its own/),
    expect.stringMatching(/^error task\.toml:6 steps\.1\.verifier\.environment_mode is separate where/),
  ]);
});
