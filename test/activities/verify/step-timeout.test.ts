// A step's verifier runs for as long as it inherited: the task folder is read for real, the waits are injected.
import { afterEach, expect, it } from 'vitest';
import { phases, readPhase } from '../../../activities/phase-records.ts';
import { resolveSubject } from '../../../activities/subject.ts';
import { readGood } from '../../tasks/task-folder.ts';
import { quiet, type Behaviour } from '../fake-driver.ts';
import { openLab, type Lab } from '../lab.ts';

let lab: Lab | null = null;
afterEach(async () => {
  await lab?.close();
});

/** A test.sh that takes so long, and is ended at its timeout where that is shorter. */
const taking = (seconds: number): Behaviour => ({
  ...quiet,
  onRun: ({ argv, timeoutMs }, sandbox) => {
    if (argv[0] !== '/tests/test.sh') return {};
    if (timeoutMs !== null && timeoutMs < seconds * 1_000) return { timedOut: true, wallMs: timeoutMs };
    sandbox.verifierFiles.set('reward.txt', '1');
    return { wallMs: seconds * 1_000 };
  },
});

it.each([
  ['inherits the 1,200 s of [verifier] and passes', '[verifier]\ntimeout_sec = 1200\n', 'passed', null],
  ['is ended after our 600 s where nobody says a timeout', '', 'failed', 'verifier-timeout'],
])('C06: one step without a timeout, whose test.sh takes 700 s, %s', async (_, verifier, result, detail) => {
  const script = { text: '#!/bin/bash\ntrue\n', mode: 0o755 };
  const { task } = await readGood({
    'instruction.md': null,
    'solution/solve.sh': null,
    'task.toml': `${verifier}[[steps]]\nname = "only"\n`,
    'steps/only/instruction.md': 'Do it.\n',
    'steps/only/solution/solve.sh': script,
  });
  const { steps, limits, multiStep } = task;
  lab = await openLab({
    task: { steps, limits, multiStep },
    // The oracle's own verification, asked for after a timeout, is quick.
    behaviourOf: (phase) => taking(phase.startsWith('verifier') ? 700 : 1),
  });
  await lab.putGate({});
  await lab.grade(lab.trial());
  const record = await readPhase(lab.world, phases.verify(await resolveSubject(lab.world, lab.trial()), 0));
  expect(record?.verification).toMatchObject({ result, detail });
});
