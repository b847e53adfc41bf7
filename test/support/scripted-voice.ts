// Signatures of a supervisor for unit tests, by toolbox/PROTOCOL.md and not by the code under test.
import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';

/** The private key that stands for a name, the same each time. */
function keyOf(name: string): KeyObject {
  const seed = createHash('sha256').update(name).digest();
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex'); // PKCS #8 of an Ed25519 key (RFC 8410)
  return createPrivateKey({ key: Buffer.concat([prefix, seed]), format: 'der', type: 'pkcs8' });
}

/** The bootId of the PID 1 of a name. */
export function bootIdOf(name: string): string {
  const { x } = createPublicKey(keyOf(name)).export({ format: 'jwk' });
  return Buffer.from(x ?? '', 'base64url').toString('hex');
}

/** What one connection to the PID 1 of a name has heard and said. */
export class ScriptedVoice {
  readonly #key: KeyObject;
  readonly #asked = createHash('sha256');
  #nonce = Buffer.alloc(16);
  #said = 0n;

  constructor(name: string) {
    this.#key = keyOf(name);
  }

  hears(request: Buffer): void {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(request.length);
    this.#asked.update(length).update(request);
    const { nonce } = JSON.parse(request.toString()) as { nonce?: string };
    if (nonce !== undefined) this.#nonce = Buffer.from(nonce, 'hex');
  }

  /** The payload of a frame R, E or H, with its signature before it. */
  signed(type: string, payload: Buffer): Buffer {
    const number = Buffer.alloc(8);
    number.writeBigUInt64BE(this.#said);
    this.#said += 1n;
    const parts = [Buffer.from('passband supervisor'), this.#nonce, number, Buffer.from(type)];
    if (type === 'R') parts.push(this.#asked.copy().digest());
    parts.push(createHash('sha256').update(payload).digest());
    return Buffer.concat([sign(null, Buffer.concat(parts), this.#key), payload]);
  }
}
