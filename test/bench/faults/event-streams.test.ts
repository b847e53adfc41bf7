// Broken streams: what of a reply comes through, byte by byte.
import { Readable, type Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { CutHere, cutInToken, withoutDone, withoutFinish } from '../../../bench/faults/event-streams.ts';

const head = 'data: {"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n';
const token = (text: string, reason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ delta: { content: text }, finish_reason: reason, token_ids: [1] }] })}\n\n`;
const usage = 'data: {"choices":[],"usage":{}}\n\n';
const done = 'data: [DONE]\n\n';
const reply = [head, token('he'), token('l→'), token('lo', 'stop'), usage, done];

/** What comes through where the pieces of the network are so long. */
async function through(transform: Transform, bytes = 7): Promise<string> {
  const whole = Buffer.from(reply.join(''));
  const pieces = Array.from({ length: Math.ceil(whole.length / bytes) }, (_, at) =>
    whole.subarray(at * bytes, (at + 1) * bytes),
  );
  return (await buffer(Readable.from(pieces).pipe(transform))).toString();
}

describe('cutInToken', () => {
  it.each([1, 7, 10_000])(
    'passes half of the line of a token and no more, in pieces of %d bytes',
    async (bytes) => {
      const said = await through(cutInToken(2, false), bytes);
      expect(said.startsWith(head + token('he'))).toBe(true);
      const half = said.slice((head + token('he')).length);
      expect(half.length).toBeGreaterThan(10);
      expect(token('l→').startsWith(half)).toBe(true);
      expect(half.endsWith('\n')).toBe(false);
    },
  );

  it('fails there where the connection is to be cut', async () => {
    await expect(through(cutInToken(1, true))).rejects.toThrow(CutHere);
  });

  it('passes a reply whole that has fewer tokens', async () => {
    expect(await through(cutInToken(9, true))).toBe(reply.join(''));
  });
});

it('withoutDone leaves out [DONE] and nothing else', async () => {
  expect(await through(withoutDone())).toBe(reply.slice(0, -1).join(''));
});

it('withoutFinish ends before the last token, its finish reason, usage and [DONE]', async () => {
  expect(await through(withoutFinish())).toBe(reply.slice(0, 3).join(''));
});
