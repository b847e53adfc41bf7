// A compose file as YAML with positions: plain values, merge keys and anchors resolved, and the line of every key.
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Document,
  type Node,
} from 'yaml';

export type KeyPath = readonly (string | number)[];

export interface ComposeDocument {
  readonly value: unknown;
  /** 1-based line of the key, else of its nearest ancestor that is written; null where none is. */
  readonly lineOf: (path: KeyPath) => number | null;
  /** Tags that a merge of several files would act on (`!reset`), each with its line. */
  readonly tags: readonly { readonly tag: string; readonly line: number | null }[];
}

export type ComposeReading =
  | { readonly ok: true; readonly document: ComposeDocument }
  | { readonly ok: false; readonly line: number | null; readonly message: string };

/** Never throws: what is no YAML is an answer. */
export function readYaml(text: string): ComposeReading {
  const lines = new LineCounter();
  const document = parseDocument(text, { merge: true, lineCounter: lines, prettyErrors: false });
  const at = (offset: number | undefined): number | null =>
    offset === undefined ? null : lines.linePos(offset).line;
  const [fault] = document.errors;
  if (fault !== undefined) return { ok: false, line: at(fault.pos[0]), message: fault.message };
  let value: unknown;
  try {
    value = document.toJS();
  } catch (error) {
    // An alias to nothing, or more of them than any file needs.
    return { ok: false, line: null, message: error instanceof Error ? error.message : String(error) };
  }
  return {
    ok: true,
    document: {
      value,
      lineOf: (path) => at(offsetOf(document, path)),
      tags: tagsOf(document).map(({ tag, offset }) => ({ tag, line: at(offset) })),
    },
  };
}

function offsetOf(document: Document.Parsed, path: KeyPath): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const part of path) {
    node = isAlias(node) ? node.resolve(document) : node;
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      if (pair === undefined) break;
      offset = isScalar(pair.key) ? pair.key.range?.[0] : offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    } else break;
  }
  return offset;
}

function tagsOf(document: Document.Parsed): { tag: string; offset: number | undefined }[] {
  const found: { tag: string; offset: number | undefined }[] = [];
  visit(document, {
    Node: (_, node) => {
      const { tag } = node as { tag?: string };
      if (tag?.startsWith('!') === true) found.push({ tag, offset: node.range?.[0] });
    },
  });
  return found;
}

export type Table = Readonly<Record<string, unknown>>;

export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
