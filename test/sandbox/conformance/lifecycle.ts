// Conformance: sandboxes come once, are found again, listed and removed; what they are can be told.
import { describe, expect, it } from 'vitest';
import { sh, specOf, withSandbox, type Harness } from './harness.ts';

export function lifecycleConforms(get: () => Harness): void {
  describe('lifecycle', () => {
    it('creates once: the same name and spec is adopted, not doubled (C43)', async () => {
      const { driver, otherDriver } = get();
      const spec = await specOf(get());
      const sandbox = await driver.create(spec);
      try {
        await sh(sandbox, 'echo here > /root/mark');
        const again = await otherDriver.create(spec);
        expect(again.identity).toEqual(sandbox.identity);
        expect((await sh(again, 'cat /root/mark')).out).toBe('here\n');
        expect(await driver.list(spec.labels)).toHaveLength(1);
      } finally {
        await driver.destroy(spec.name);
      }
    });

    it('creates once when asked for the same by several at once (C43)', async () => {
      const { driver, otherDriver } = get();
      const spec = await specOf(get());
      try {
        const made = await Promise.all([driver.create(spec), otherDriver.create(spec), driver.create(spec)]);
        expect(new Set(made.map(({ identity }) => identity.uid)).size).toBe(1);
        expect(new Set(made.map(({ identity }) => identity.bootId)).size).toBe(1);
      } finally {
        await driver.destroy(spec.name);
      }
    });

    it('refuses to adopt what was made under this name from another spec', async () => {
      await withSandbox(get(), 'debian', async (_, spec) => {
        await expect(get().driver.create({ ...spec, memoryMiB: spec.memoryMiB + 1 })).rejects.toThrow(
          /made for something else/,
        );
      });
    });

    it('opens a sandbox by its identity from another worker', async () => {
      await withSandbox(get(), 'debian', async (sandbox) => {
        await sh(sandbox, 'echo here > /root/mark');
        const opened = await get().otherDriver.open(sandbox.identity);
        expect(opened.identity).toEqual(sandbox.identity);
        expect(opened.image).toEqual(sandbox.image);
        expect((await sh(opened, 'cat /root/mark')).out).toBe('here\n');
        expect(await opened.state()).toEqual({ kind: 'alive' });
        await opened.close();
      });
    });

    it('lists by labels, with the labels as they were given', async () => {
      await withSandbox(
        get(),
        'busybox',
        async (_, spec) => {
          const found = await get().otherDriver.list({ 'passband.mark': 'listed' });
          expect(found.map(({ name, labels }) => ({ name, labels }))).toMatchObject([
            { name: spec.name, labels: spec.labels },
          ]);
          expect(Math.abs(Date.parse(found[0]?.createdAt ?? '') - Date.now())).toBeLessThan(60_000);
          expect(await get().driver.list({ 'passband.mark': 'other' })).toEqual([]);
        },
        { labels: { 'passband.mark': 'listed' } },
      );
    });

    it('destroys what runs in seconds, and has nothing to do where nothing is', async () => {
      const { driver } = get();
      const spec = await specOf(get());
      const sandbox = await driver.create(spec);
      await sandbox.start({
        id: 'stubborn',
        argv: ['/bin/sh', '-c', 'trap "" TERM; while :; do sleep 1; done'],
      });
      const begun = Date.now();
      await driver.destroy(spec.name);
      expect(Date.now() - begun).toBeLessThan(5_000);
      await driver.destroy(spec.name);
      expect(await driver.list(spec.labels)).toEqual([]);
    });

    it('tells a missing image by its name', async () => {
      const spec = await specOf(get());
      const { reference } = await get().image('busybox');
      const image = { reference, digest: `sha256:${'0'.repeat(64)}` };
      await expect(get().driver.create({ ...spec, image })).rejects.toMatchObject({
        failureClass: 'ImageMissing',
      });
    });

    it('has no way out, and proves it from inside against what answers elsewhere (C49, C51)', async () => {
      await withSandbox(get(), 'debian', async (sandbox, { name, labels, lifetimeSec }) => {
        const request = { name: `${name}-survey`, labels, targets: [], lifetimeSec };
        const survey = await get().driver.surveyEgress(request);
        const again = await get().otherDriver.surveyEgress(request);
        expect(again.targets.map((target) => target.name)).toEqual(
          survey.targets.map((target) => target.name),
        );
        const proof = await sandbox.proveNetwork(survey, { settleMs: 10_000 });
        expect(proof.outcome).toBe('denied');
        expect(proof.interfaces.map((one) => one.name)).toContain('lo');
        expect(proof.probes.length).toBeGreaterThanOrEqual(survey.targets.length);
        expect(proof.probes.filter(({ outcome }) => outcome === 'open')).toEqual([]);
        const after = await sandbox.proveNetwork(survey, { settleMs: 0 });
        expect(after.outcome).toBe('denied');
      });
      await get().driver.removeAll({ 'passband.test': `conformance-${process.pid}` });
    });

    it('removes all that carries the labels, whatever its state, and nothing else', async () => {
      const { driver, otherDriver, outside } = get();
      const mine = { 'passband.mark': `all-${process.pid}` };
      await withSandbox(
        get(),
        'busybox',
        async (_, spared) => {
          const specs = [
            await specOf(get(), 'busybox', { labels: mine }),
            await specOf(get(), 'busybox', { labels: mine }),
          ];
          for (const spec of specs) await driver.create(spec);
          await outside.kill(specs[0]?.name ?? '');
          await otherDriver.removeAll(mine);
          expect(await driver.list(mine)).toEqual([]);
          expect((await driver.list(spared.labels)).map(({ name }) => name)).toEqual([spared.name]);
          await driver.removeAll(mine);
        },
        { labels: { 'passband.mark': `spared-${process.pid}` } },
      );
    });

    it('names what it cannot run', () => {
      const { driver } = get();
      expect(driver.unsupported({ needs: ['gpu', 'compose'], networkMode: 'public' }, 'deny')).toContain(
        'gpu',
      );
      expect(driver.unsupported({ needs: [], networkMode: 'public' }, 'deny')).toEqual([]);
    });

    it('says which platform answers', async () => {
      const { version, endpoint } = await get().driver.check();
      expect(version).not.toBe('');
      expect(endpoint).not.toBe('');
    });
  });
}
