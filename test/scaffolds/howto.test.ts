// The scaffold that docs/scaffold-howto.md shows: it is the one of examples/, and it works.
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { oneScript } from '../../examples/one-script/index.ts';
import { answer, scripted, type Script } from './fakes.ts';

const read = (file: string): Promise<string> => readFile(new URL(`../../${file}`, import.meta.url), 'utf8');

async function play(script: Script) {
  const fake = scripted(script);
  const input = { instruction: 'Do it.', solutionEnv: {}, options: oneScript.parseOptions({}) };
  return Object.assign(fake, { end: await oneScript.episode(input, fake.tools) });
}

describe('the how-to', () => {
  it('shows the example whole, in under 100 lines', async () => {
    const text = await read('docs/scaffold-howto.md');
    expect(text).toContain(`\`\`\`ts\n${await read('examples/one-script/index.ts')}\`\`\``);
    expect(text.trimEnd().split('\n').length).toBeLessThan(100);
  });

  it('names the one line of the index as it is written there', async () => {
    const line = "export { oneScript } from './one-script/index.ts';";
    expect(await read('docs/scaffold-howto.md')).toContain(line);
    expect(await read('scaffolds/all.ts')).toMatch(/^export \{ \w+ \} from '\.\/[a-z0-9-]+\/index\.ts';$/m);
  });
});

describe('its scaffold', () => {
  it('runs the script that the model writes', async () => {
    const fake = await play({
      answers: ['So:\n<script>\necho hi\n</script>'],
      result: { exitCode: 0, timedOut: false, output: 'hi\n' },
    });
    expect(fake.ran).toMatchObject([{ argv: ['sh'], stdin: 'echo hi\n', timeoutMs: 600_000 }]);
    expect(fake.end).toEqual({ ending: 'completed', detail: null });
  });

  it.each([
    [answer('no script'), 'no-valid-call'],
    [answer('<script>ls</script>', { finishReason: 'length' }), 'no-valid-call'],
    [{ kind: 'overflow', message: 'too long' } as const, 'out-of-context'],
  ])('ends of itself where there is none to run', async (reply, ending) => {
    const fake = await play({ answers: [reply] });
    expect([fake.end.ending, fake.ran]).toEqual([ending, []]);
  });

  it('refuses an option that it does not have', () => {
    expect(() => oneScript.parseOptions({ timeout: 3 })).toThrow(
      /scaffold one-script: unknown option timeout/,
    );
  });
});
