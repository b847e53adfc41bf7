// The text of an output of which only the first half and the last half were kept.

/** A character's first byte is none of 10xxxxxx. */
const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Where the last whole character of the bytes ends: one that was cut is left out. */
function wholeEnd(bytes: Buffer): number {
  let start = bytes.length - 1;
  while (start > 0 && bytes.length - start < 4 && isContinuation(bytes[start])) start -= 1;
  const lead = bytes[start] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + length > bytes.length ? start : bytes.length;
}

/** Where the first whole character of the bytes begins. */
function wholeStart(bytes: Buffer): number {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start += 1;
  return start;
}

/** `kept` holds the halves of `limit` bytes one after the other; a line between them says how much was left out. */
export function joinHalves(kept: Uint8Array, omitted: number, limit: number): string {
  const bytes = Buffer.from(kept);
  if (omitted === 0) return bytes.toString();
  const half = Math.min(Math.floor(limit / 2), bytes.length);
  const [head, tail] = [bytes.subarray(0, half), bytes.subarray(half)];
  const [headEnd, tailStart] = [wholeEnd(head), wholeStart(tail)];
  const left = omitted + (head.length - headEnd) + tailStart;
  const line = `[output limited to ${limit} bytes: ${left} bytes in the middle are left out]`;
  return `${head.toString('utf8', 0, headEnd)}\n${line}\n${tail.toString('utf8', tailStart)}`;
}
