// The task that docs/task-format.md shows: `check` plans it, and without any of its files it does not.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { checkCommand } from '../../cli/check.ts';
import type { CheckReport } from '../../tasks/check.ts';

const page = await readFile(new URL('../../docs/task-format.md', import.meta.url), 'utf8');

/** The files of the page: a path on a line of its own, and its text in the block that follows. */
const files = [...page.matchAll(/^`(greeting\/\S+)`\n\n```\w+\n([\s\S]*?)^```$/gm)].map(
  ([, name = '', text = '']) => ({ name, text }),
);

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'task-format-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
  await rm(dir, { recursive: true, force: true });
});

async function check(without?: string): Promise<CheckReport> {
  for (const { name, text } of files) {
    if (name === without) continue;
    const file = path.join(dir, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text, { mode: name.endsWith('.sh') ? 0o755 : 0o644 });
  }
  let out = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((out += String(text)), true));
  await checkCommand().parseAsync([dir, '--strict', '--json'], { from: 'user' });
  vi.restoreAllMocks();
  return JSON.parse(out) as CheckReport;
}

it('is planned without a word, and the page is short', async () => {
  const report = await check();
  expect(report).toMatchObject({ planned: [{ task: 'example/greeting' }], rejected: [], messages: [] });
  expect(page.split('\n').length).toBeLessThan(200);
  for (const { text } of files) expect(text.split('\n').length - 1).toBeLessThanOrEqual(12);
});

it.each([
  ['task.toml', 'invalid'],
  ['instruction.md', 'invalid'],
  ['environment/Dockerfile', 'invalid'],
  ['tests/test.sh', 'invalid'],
])('is rejected without its %s', async (name, reason) => {
  expect((await check(`greeting/${name}`)).rejected).toMatchObject([{ reason }]);
});

it('is warned of without its solution', async () => {
  const { warned, messages } = await check('greeting/solution/solve.sh');
  expect([warned.length, messages.length]).toEqual([1, 1]);
});
