// Streamed replies that go wrong: cut in the middle of a token's line, or without the end that they should have.
import { Transform } from 'node:stream';

/** The connection of a reply is to be cut here. */
export class CutHere extends Error {}

type Take = (event: string) => 'pass' | 'drop' | 'half' | 'end';

/**
 * Events one by one: `half` passes the first half of one and is the end of all, `end` is the end before it. `cut`: the
 * connection is cut there, else the reply ends as if it were whole.
 */
function editing(take: Take, cut: boolean): Transform {
  let rest = Buffer.alloc(0);
  let ended = false;
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      rest = Buffer.concat([rest, piece]);
      for (let at = rest.indexOf('\n\n'); at !== -1 && !ended; at = rest.indexOf('\n\n')) {
        const event = rest.subarray(0, at + 2);
        rest = rest.subarray(at + 2);
        const what = take(event.toString());
        if (what === 'pass') this.push(event);
        if (what === 'half') this.push(event.subarray(0, Math.ceil(event.length / 2)));
        ended = what === 'half' || what === 'end';
      }
      if (ended && cut) done(new CutHere());
      else done();
    },
    flush(done) {
      if (!ended) this.push(rest);
      done();
    },
  });
}

/** Ends in the middle of the line of its n-th token chunk, `nth` from 1; a shorter one passes whole. */
export function cutInToken(nth: number, cut: boolean): Transform {
  let tokens = 0;
  return editing((event) => {
    if (!/"token_ids":|"content":"[^"]/.test(event)) return 'pass';
    tokens += 1;
    return tokens === nth ? 'half' : 'pass';
  }, cut);
}

/** Without `[DONE]`; all the rest is there. */
export const withoutDone = (): Transform =>
  editing((event) => (event.startsWith('data: [DONE]') ? 'drop' : 'pass'), false);

/** Without its last token, the finish reason and whatever follows, as if it were whole. */
export const withoutFinish = (): Transform =>
  editing((event) => (/"finish_reason":"/.test(event) ? 'end' : 'pass'), false);
