// The worker's log: one JSON line an entry, and no secret in it.
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../worker/logger.ts';

const secret = 'sk-very"secret-123';

function linesOf(
  write: (log: ReturnType<typeof createLogger>) => void,
  more: NodeJS.ProcessEnv = {},
): string[] {
  const lines: string[] = [];
  const destination = {
    write: (line: string) => {
      lines.push(line);
    },
  };
  const env = { MODEL_API_KEY: secret, HOME: '/root-folder', ...more };
  write(createLogger({ level: 'info', env, destination }));
  return lines;
}

describe('the log', () => {
  test('is one JSON object a line, with time, level and message', () => {
    const [line = ''] = linesOf((log) => log.info({ phase: 'verify', durationMs: 12 }, 'verify done'));
    expect(JSON.parse(line)).toMatchObject({
      level: 'info',
      msg: 'verify done',
      phase: 'verify',
      durationMs: 12,
      pid: process.pid,
    });
    expect(line.trim()).not.toContain('\n');
  });

  test('hides secrets by field name, up to two levels down', () => {
    const [line = ''] = linesOf((log) =>
      log.info({ token: 'aaa', request: { headers: { x: 'bbb' }, inner: { apiKey: 'ccc' } } }, 'asked'),
    );
    for (const value of ['aaa', 'bbb', 'ccc']) expect(line).not.toContain(value);
  });

  test('hides the values of secret variables wherever they stand, inside messages too', () => {
    const [line = ''] = linesOf((log) =>
      log.warn({ deep: { a: { b: { c: secret } } } }, `401: wrong key ${secret} for /root-folder`),
    );
    expect(line).not.toContain('very');
    expect(line).toContain('/root-folder');
    expect(JSON.parse(line)).toMatchObject({ deep: { a: { b: { c: '[redacted]' } } } });
  });

  test('leaves words alone that a short secret is too, but where the field says secret', () => {
    const [line = ''] = linesOf(
      (log) => log.info({ taskQueue: 'passband', password: 'passband' }, 'listens'),
      {
        AWS_ACCESS_KEY_ID: 'passband',
      },
    );
    expect(JSON.parse(line)).toMatchObject({ taskQueue: 'passband', password: '[redacted]' });
  });

  test('says nothing below its level', () => {
    expect(linesOf((log) => log.debug('not this'))).toEqual([]);
  });
});
