// The sandbox of one verification or survey: whatever happens to it, none is left.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cleanUp } from '../../../activities/clean-up.ts';
import { resolveSubject } from '../../../activities/subject.ts';
import { inFreshSandbox } from '../../../activities/verify/fresh-sandbox.ts';
import type { Run } from '../../../activities/world.ts';
import { ClassifiedError } from '../../../domain/errors.ts';
import { workflowLabel } from '../../../domain/sandbox-labels.ts';
import type { Sandbox } from '../../../sandbox/port.ts';
import { quiet } from '../fake-driver.ts';
import { openLab, type Lab } from '../lab.ts';

let lab: Lab;
beforeEach(async () => {
  lab = await openLab({ behaviourOf: () => quiet });
});
afterEach(async () => {
  await lab.close();
});

async function inSurvey(run: Run, body: (sandbox: Sandbox) => Promise<void>): Promise<void> {
  // Generation 0 is no trial's: no clean-up of a generation finds it.
  const grading = await resolveSubject(lab.world, { ...lab.side('nop'), generation: 0 });
  const image = { reference: 'image', digest: 'sha256:image' };
  const use = { grading, phase: 'survey', image, env: {}, outsideGenerations: true, run };
  await inFreshSandbox(lab.world, use, body);
}

describe('a fresh sandbox', () => {
  it('is labelled with the workflow that asks for it, and gone when its body ends or fails (C42)', async () => {
    const seen: (string | undefined)[] = [];
    const failing = inSurvey(lab.run, async () => {
      const there = await lab.driver.list({});
      seen.push(...there.map(({ labels }) => labels[workflowLabel]));
      throw new Error('the survey fails');
    });
    await expect(failing).rejects.toThrow('the survey fails');
    expect(seen).toEqual(['trial-lab-0']);
    expect(await lab.driver.list({})).toEqual([]);
  });

  it('has no baseline: its difference is never taken', async () => {
    await inSurvey(lab.run, () => Promise.resolve());
    expect([...lab.driver.made.values()].map(({ baseline }) => baseline)).toEqual([false]);
  });

  it('is gone where it was made and could not be reached, or its making was cancelled (C42)', async () => {
    const { driver } = lab;
    const create = driver.create.bind(driver);
    driver.create = async (spec) => {
      await create(spec);
      throw new ClassifiedError('ExecBroken', 'no connection holds');
    };
    await expect(inSurvey(lab.run, () => Promise.resolve())).rejects.toThrow('no connection holds');
    expect(await lab.driver.list({})).toEqual([]);
  });

  it('is gone where the try before was killed in the middle of it (C42)', async () => {
    const killed = new Promise<never>(() => undefined);
    void inSurvey(lab.run, () => killed);
    while ((await lab.driver.list({})).length === 0) await new Promise((go) => setTimeout(go, 5));
    await inSurvey({ ...lab.run, attempt: 2 }, () => Promise.resolve());
    expect(await lab.driver.list({})).toEqual([]);
  });

  it.each(['made', 'waited for'] as const)(
    'that was %s when the platform stopped to answer keeps its turn: the next try begins in it',
    async (when) => {
      const { driver } = lab;
      const create = driver.create.bind(driver);
      const silent = new ClassifiedError('PlatformUnavailable', 'no room, or no answer');
      driver.create = async (spec) => {
        if (when === 'waited for') await create(spec);
        throw silent;
      };
      if (when === 'made') {
        driver.create = async (spec) => {
          const sandbox = await create(spec);
          sandbox.run = () => Promise.reject(silent);
          return sandbox;
        };
      }
      await expect(inSurvey(lab.run, () => Promise.resolve())).rejects.toBe(silent);
      const [waits, ...others] = await driver.list({});
      expect(others).toEqual([]);
      for (const sandbox of driver.made.values()) Reflect.deleteProperty(sandbox, 'run');
      driver.create = create;
      const used: string[] = [];
      await inSurvey({ ...lab.run, attempt: 2 }, async ({ identity }) => {
        used.push(identity.name);
        expect(await driver.list({})).toHaveLength(1);
      });
      expect(used).toEqual([waits?.name]);
      expect(await driver.list({})).toEqual([]);
    },
  );

  it('that waited for its try and ended meanwhile is made anew', async () => {
    const { driver } = lab;
    const create = driver.create.bind(driver);
    driver.create = async (spec) => {
      await create(spec);
      throw new ClassifiedError('PlatformUnavailable', 'no answer');
    };
    await expect(inSurvey(lab.run, () => Promise.resolve())).rejects.toThrow('no answer');
    driver.create = create;
    for (const sandbox of driver.made.values()) {
      sandbox.now = { kind: 'gone', cause: 'platform', why: 'host-lost', reason: 'its node is gone' };
    }
    let begun = false;
    await inSurvey({ ...lab.run, attempt: 2 }, async () => {
      begun = true;
      expect(await driver.list({})).toHaveLength(1);
    });
    expect(begun).toBe(true);
    expect(await driver.list({})).toEqual([]);
  });

  it('that waits is not left where the try was cancelled (C42)', async () => {
    const { driver } = lab;
    const create = driver.create.bind(driver);
    const cancelled = new AbortController();
    driver.create = async (spec) => {
      await create(spec);
      cancelled.abort(new Error('the sweep was stopped'));
      throw new ClassifiedError('PlatformUnavailable', 'no answer');
    };
    const run = { ...lab.run, signal: cancelled.signal };
    await expect(inSurvey(run, () => Promise.resolve())).rejects.toThrow('no answer');
    expect(await driver.list({})).toEqual([]);
  });

  it.each([1, 2])(
    'belongs to one try alone: another (%i) that finds it begun with removes it and gets its own',
    async (attempt) => {
      const used: string[] = [];
      await inSurvey(lab.run, async ({ identity: { name } }) => {
        used.push(name);
        await inSurvey({ ...lab.run, attempt }, async ({ identity }) => {
          used.push(identity.name);
          expect((await lab.driver.list({})).map((one) => one.name)).toEqual([identity.name]);
        });
      });
      expect(new Set(used).size).toBe(2);
      expect(await lab.driver.list({})).toEqual([]);
    },
  );

  it('of a verification does not make it wait for its removal, which the clean-up waits for', async () => {
    const removing = Promise.withResolvers<undefined>();
    const { driver } = lab;
    const destroy = driver.destroy.bind(driver);
    driver.destroy = async (name) => {
      await removing.promise;
      await destroy(name);
    };
    await lab.putGate({});
    await lab.grade(lab.trial());
    const named = (await driver.list({})).map(({ labels }) => labels['passband.phase']).sort();
    expect(named).toEqual(['agent', 'verifier-0']);
    // As a driver that does not list what is on its way out.
    const list = driver.list.bind(driver);
    driver.list = () => Promise.resolve([]);
    let cleaned = false;
    const cleaning = cleanUp(lab.world, { subject: lab.trial() }).then(() => {
      cleaned = true;
    });
    await new Promise((go) => setTimeout(go, 20));
    expect(cleaned).toBe(false);
    removing.resolve(undefined);
    await cleaning;
    expect(await list({})).toEqual([]);
  });

  it('that could not be let go is removed by the clean-up', async () => {
    const { driver } = lab;
    const destroy = driver.destroy.bind(driver);
    driver.destroy = () => Promise.reject(new ClassifiedError('PlatformUnavailable', 'no answer'));
    await lab.putGate({});
    await lab.grade(lab.trial());
    driver.destroy = destroy;
    await cleanUp(lab.world, { subject: lab.trial() });
    expect(await driver.list({})).toEqual([]);
  });
});
