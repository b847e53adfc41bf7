// Shared mode over a fake driver: planted and rewritten rewards do not stand, and nothing is stopped before test.sh.
import { afterEach, describe, expect, it } from 'vitest';
import type { VerifyRecord } from '../../../activities/phase-records.ts';
import { verify } from '../../../activities/verify/verify.ts';
import { ClassifiedError } from '../../../domain/errors.ts';
import { stepOf } from '../../support/task-data.ts';
import type { Behaviour } from '../fake-driver.ts';
import { openLab, type Lab } from '../lab.ts';
import { fail, leaving, pass, verificationRecord } from './behaviours.ts';

let lab: Lab;
afterEach(async () => {
  await lab.close();
});

describe('shared mode', () => {
  const shared = async (agent: Behaviour): Promise<VerifyRecord> => {
    lab = await openLab({ behaviourOf: () => agent });
    await lab.putGate({ environmentMode: 'shared', steps: [] });
    await lab.grade(lab.trial());
    return verificationRecord(lab, lab.trial());
  };

  it('C52: makes the folders anew while all stands still, and reads the reward frozen', async () => {
    const { verification } = await shared(leaving(fail));
    expect(verification).toMatchObject({ result: 'failed', reward: 0 });
    const asked = lab.driver.made.get('agent')?.asked ?? [];
    const from = asked.indexOf('put /tests');
    expect(asked[from - 1]).toBe('pause');
    const test = asked.indexOf('run /tests/test.sh');
    expect(asked.slice(test - 3)).toEqual([
      'remove /logs/verifier',
      'put /',
      'resume',
      'run /tests/test.sh',
      'pause',
      'get /logs/verifier',
    ]);
    expect(asked).not.toContain('end');
  });

  it.each([
    ['before the tests', 1],
    ['after them', 3],
  ])('C52: a reward that something writes %s does not stand', async (_when, resumed) => {
    let resumes = 0;
    const forger: Behaviour = {
      ...leaving(pass),
      onResume: (sandbox) => {
        resumes += 1;
        if (resumes === resumed) sandbox.verifierFiles.set('reward.txt', '1\n');
      },
    };
    const { verification } = await shared(forger);
    expect(verification).toMatchObject({ result: 'failed', detail: 'malformed-reward', reward: null });
    expect(verification.warnings.join()).toContain('something beside the tests');
  });

  // An activity that is asked for anew counts its tries from 1 again.
  it.each([2, 1])(
    'C78: a later try (%i) kills the tests of a lost one, which would write beside its own',
    async (attempt) => {
      let lives = false;
      const agent: Behaviour = {
        ...leaving(pass),
        onRun: ({ id, argv }, sandbox) => {
          if (argv[0] !== '/tests/test.sh') return {};
          if (id === 'test-0-1') {
            lives = true;
            return Promise.reject(new ClassifiedError('PlatformUnavailable', 'the engine does not answer'));
          }
          sandbox.verifierFiles.set('reward.txt', '1\n');
          return {};
        },
        onResume: (sandbox) => {
          if (lives) sandbox.verifierFiles.set('reward.txt', '1\n');
        },
        onKill: (id) => {
          if (id === 'test-0-1') lives = false;
        },
      };
      await expect(shared(agent)).rejects.toThrow('the engine does not answer');
      const again = await verify(lab.world, { subject: lab.trial(), step: 0 }, { ...lab.run, attempt });
      expect(again).toMatchObject({ result: 'passed' });
    },
  );

  it('what the tests of a step left running does not go on into the next one', async () => {
    const steps = [stepOf({ name: 'a' }), stepOf({ name: 'b' })];
    lab = await openLab({ behaviourOf: () => leaving(pass), task: { steps, multiStep: true } });
    await lab.putGate({ environmentMode: 'shared', steps: [] });
    await lab.grade(lab.trial());
    expect(lab.driver.made.get('agent')?.asked.slice(-2)).toEqual([
      'kill test-0-1',
      'remove /tests /logs/verifier',
    ]);
  });

  it('passes where nothing else writes one', async () => {
    expect((await shared(leaving(pass))).verification).toMatchObject({ result: 'passed', reward: 1 });
  });
});
