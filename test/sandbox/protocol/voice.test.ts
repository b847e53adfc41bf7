import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Connection } from '../../../sandbox/protocol/connection.ts';
import { ConnectionLost } from '../../../sandbox/protocol/frames.ts';
import { UsageResponse } from '../../../sandbox/protocol/responses.ts';
import { Forged } from '../../../sandbox/protocol/voice.ts';
import { encodeFrame } from '../../support/encode-frame.ts';
import { bootIdOf } from '../../support/scripted-voice.ts';
import {
  answer,
  hello,
  overhear,
  said,
  scriptedBootId,
  scriptedSupervisor,
  type Script,
} from '../../support/scripted-supervisor.ts';

const usage = { request: { op: 'usage' }, response: UsageResponse };
const right = { ok: true, oomKills: 0, memoryPeakBytes: null };
const text = (response: unknown): Buffer => Buffer.from(JSON.stringify(response));

/** Answers hello as it should, and the rest by `more`. */
const greeted =
  (more: (stream: Duplex) => void): Script =>
  ({ request }, stream) => {
    if (request.op === 'hello') answer(stream, hello());
    else more(stream);
  };

async function asked(script: Script, bootId: string | null = null): Promise<unknown> {
  const connection = new Connection(scriptedSupervisor(script), bootId);
  try {
    await connection.greet();
    return (await connection.exchange(usage)).response;
  } catch (error) {
    return error;
  }
}

describe('what a supervisor says', () => {
  it('is believed by its bootId, and by the bootId that hello tells where none is known', async () => {
    const works = greeted((stream) => answer(stream, right));
    expect(await asked(works, scriptedBootId)).toMatchObject({ oomKills: 0 });
    expect(await asked(works)).toMatchObject({ oomKills: 0 });
  });

  it('is not believed of a PID 1 that another was told of', async () => {
    expect(
      await asked(
        greeted((stream) => answer(stream, right)),
        bootIdOf('another'),
      ),
    ).toBeInstanceOf(Forged);
  });

  it.each<[string, (stream: Duplex) => Buffer]>([
    ['unsigned', () => encodeFrame('R', text(right))],
    [
      'changed after it was signed',
      (stream) => {
        const frame = said(stream, 'R', text(right));
        return Buffer.from(frame.toString('latin1').replace('oomKills":0', 'oomKills":9'), 'latin1');
      },
    ],
    [
      'of another type than was signed',
      (stream) => {
        const frame = said(stream, 'H', text(right));
        frame.write('R', 4);
        return frame;
      },
    ],
    [
      'after something that was kept back',
      (stream) => {
        said(stream, 'H');
        return said(stream, 'R', text(right));
      },
    ],
    ['a heartbeat, unsigned', () => encodeFrame('H', Buffer.alloc(0))],
  ])('is not believed where it comes %s', async (_, frame) => {
    expect(await asked(greeted((stream) => stream.write(frame(stream))))).toBeInstanceOf(Forged);
  });

  it('is not believed where it was said to another connection', async () => {
    let kept: Buffer = Buffer.alloc(0);
    const first = greeted((stream) => {
      kept = said(stream, 'R', text(right));
      stream.write(kept);
    });
    expect(await asked(first)).toMatchObject({ oomKills: 0 });
    expect(await asked(greeted((stream) => stream.write(kept)))).toBeInstanceOf(Forged);
  });

  it('is not believed where another question reached it than was asked', async () => {
    const misled = greeted((stream) => {
      overhear(stream, { op: 'end' });
      answer(stream, right);
    });
    expect(await asked(misled)).toBeInstanceOf(Forged);
  });

  it('ends a stream only with the digest that it gave itself', async () => {
    const script = greeted((stream) => {
      const sha256 = createHash('sha256').update('planted').digest('hex');
      said(stream, 'E', text({ bytes: 4, sha256: 'that of the true data' }));
      stream.write(encodeFrame('D', Buffer.from('planted')));
      stream.write(encodeFrame('E', Buffer.concat([Buffer.alloc(64), text({ bytes: 7, sha256 })])));
      answer(stream, right);
    });
    const connection = new Connection(scriptedSupervisor(script), null);
    await connection.greet();
    const sink = (): Promise<void> => Promise.resolve();
    await expect(connection.exchange({ ...usage, sink })).rejects.toThrow(Forged);
  });

  it('is lost, and no forgery, where the first answer names nobody', async () => {
    const error = await asked((_, stream) => answer(stream, right));
    expect(error).toBeInstanceOf(ConnectionLost);
    expect(error).not.toBeInstanceOf(Forged);
  });
});
