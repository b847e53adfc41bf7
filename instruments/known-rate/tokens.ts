// A toy tokenizer, reversible and without merges across messages: the ids of turn n+1 extend those of turn n.

/** One byte is its own id, two bytes are one id above; what marks a message lies above all text. */
const pairs = 256;
const marks = pairs + 65_536;
const markOf = { system: marks, user: marks + 1, assistant: marks + 2, tool: marks + 3 } as const;
/** Ends every message, and so every completion. */
export const endToken = marks + 4;
export const vocabularySize = marks + 5;

type Role = keyof typeof markOf;

export interface Said {
  readonly role: Role;
  readonly content: string;
}

/** Ids of a text: its UTF-8 bytes two by two from its start, the odd last one alone. */
export function encode(text: string): number[] {
  const bytes = Buffer.from(text, 'utf8');
  const ids: number[] = [];
  for (let at = 0; at + 1 < bytes.length; at += 2) ids.push(pairs + bytes.readUInt16BE(at));
  if (bytes.length % 2 === 1) ids.push(bytes.readUInt8(bytes.length - 1));
  return ids;
}

/** Bytes of one id; none for a mark. */
export function bytesOf(id: number): Uint8Array {
  if (id < pairs) return Uint8Array.of(id);
  if (id < marks) return Uint8Array.of((id - pairs) >> 8, (id - pairs) & 255);
  return new Uint8Array();
}

/** The text of ids, marks left out. */
export const decode = (ids: readonly number[]): string => Buffer.concat(ids.map(bytesOf)).toString('utf8');

/** The prompt of a chat: each message between its mark and the end token, then, where one is to come, the mark of the reply. */
export function renderChat(messages: readonly Said[], toBeAnswered = true): number[] {
  const ids: number[] = [];
  for (const { role, content } of messages) {
    ids.push(markOf[role]);
    for (const id of encode(content)) ids.push(id);
    ids.push(endToken);
  }
  if (toBeAnswered) ids.push(markOf.assistant);
  return ids;
}

/** The chat of a prompt given as ids, the mark of the reply left out; ids without any mark are one user message. */
export function readChat(ids: readonly number[]): Said[] {
  const roles = new Map<number, Role>();
  for (const role of ['system', 'user', 'assistant', 'tool'] as const) roles.set(markOf[role], role);
  if (!ids.some((id) => roles.has(id))) return [{ role: 'user', content: decode(ids) }];
  const messages: Said[] = [];
  let role: Role = 'user';
  let from = 0;
  ids.forEach((id, at) => {
    if (id === endToken) messages.push({ role, content: decode(ids.slice(from, at)) });
    role = roles.get(id) ?? role;
    if (roles.has(id)) from = at + 1;
  });
  return messages;
}
