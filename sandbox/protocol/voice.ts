// The supervisor's signatures (toolbox/PROTOCOL.md): what its PID 1 did not say itself, to this very connection, is not
// believed. An agent that is root may stand between it and us.
import { createHash, createPublicKey, randomBytes, verify, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { ConnectionLost, type Frame } from './frames.ts';

const domain = Buffer.from('passband supervisor');
const nonceBytes = 16;
const signatureBytes = 64;

/** 64 hexadecimal digits: the public half of the key that PID 1 made as it began. */
export const BootId = z.string().regex(/^[0-9a-f]{64}$/);
const Greeting = z.object({ bootId: BootId });

/** A whole frame came that the supervisor did not send: something else speaks in its place. */
export class Forged extends ConnectionLost {
  constructor() {
    super('another program answered in its place');
    this.name = 'Forged';
  }
}

/** PID 1's voice on one connection. */
export class Voice {
  readonly #asked = createHash('sha256');
  #nonce = Buffer.alloc(nonceBytes);
  #heard = 0n;
  #key: KeyObject | null;

  /** `bootId` null: the first answer is believed, and tells it. */
  constructor(bootId: string | null) {
    this.#key = bootId === null ? null : keyOf(bootId);
  }

  /** A nonce of this connection's own, for hello; signed from then on. */
  greet(): string {
    this.#nonce = randomBytes(nonceBytes);
    return this.#nonce.toString('hex');
  }

  /** Told of each request, in order, before it is sent. */
  asks(request: Buffer): void {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(request.length);
    this.#asked.update(length).update(request);
  }

  /** The frame without its signature. Forged where that is not PID 1's, or is for another place. */
  verified(frame: Frame): Frame {
    if (frame.type === 'D') return frame;
    const signature = frame.payload.subarray(0, signatureBytes);
    const payload = frame.payload.subarray(signatureBytes);
    const number = Buffer.alloc(8);
    number.writeBigUInt64BE(this.#heard);
    this.#heard += 1n;
    if (this.#key === null && frame.type === 'R') this.#key = greetedKey(payload);
    // A heartbeat before the first answer: it says nothing that could be believed.
    if (this.#key === null) return { ...frame, payload };
    const asked = frame.type === 'R' ? this.#asked.copy().digest() : Buffer.alloc(0);
    const said = createHash('sha256').update(payload).digest();
    const signed = Buffer.concat([domain, this.#nonce, number, Buffer.from(frame.type), asked, said]);
    if (!verify(null, signed, this.#key, signature)) throw new Forged();
    return { ...frame, payload };
  }
}

function keyOf(bootId: string): KeyObject {
  const x = Buffer.from(BootId.parse(bootId), 'hex').toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

function greetedKey(payload: Buffer): KeyObject {
  let answer: unknown;
  try {
    answer = JSON.parse(payload.toString('utf8'));
  } catch (error) {
    throw new ConnectionLost('the supervisor answered something that is not JSON', { cause: error });
  }
  const greeting = Greeting.safeParse(answer);
  if (!greeting.success) throw new ConnectionLost('the first answer of a supervisor says not who it is');
  return keyOf(greeting.data.bootId);
}
