// TOML with positions: the parsed value, and the line of every key in it.
import { getStaticTOMLValue, ParseError, parseTOML, type AST } from 'toml-eslint-parser';

export type KeyPath = readonly (string | number)[];

export interface TomlDocument {
  readonly value: Readonly<Record<string, unknown>>;
  /** 1-based line of the key, else of its nearest ancestor that is written; null where none is. */
  lineOf(path: KeyPath): number | null;
}

export type TomlReading =
  | { readonly ok: true; readonly document: TomlDocument }
  | { readonly ok: false; readonly line: number | null; readonly message: string };

/** Parses TOML 1.0; never throws. CRLF is fine, a byte order mark must be off already. */
export function readToml(text: string): TomlReading {
  let ast: AST.TOMLProgram;
  try {
    ast = parseTOML(text, { tomlVersion: '1.0' });
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return { ok: false, line: faultyLine(text, error), message: error.message };
  }
  const lines = new Map<string, number>();
  const [top] = ast.body;
  for (const node of top.body) {
    if (node.type === 'TOMLKeyValue') {
      collectKeyValue(node, [], lines);
    } else {
      note(lines, node.resolvedKey, node.loc.start.line);
      for (const child of node.body) collectKeyValue(child, node.resolvedKey, lines);
    }
  }
  return {
    ok: true,
    document: { value: getStaticTOMLValue(ast), lineOf: (path) => nearestLine(lines, path) },
  };
}

/** The parser names the line after one that ends too early: the fault is where the text before it ends. */
function faultyLine(text: string, error: ParseError): number {
  const before = text.slice(0, error.index).trimEnd();
  const cutShort =
    before.endsWith('=') || /must be on the same line|No newlines are allowed/.test(error.message);
  return error.column === 0 && cutShort ? before.split('\n').length : error.lineNumber;
}

function note(lines: Map<string, number>, path: KeyPath, line: number): void {
  const key = JSON.stringify(path);
  if (!lines.has(key)) lines.set(key, line);
}

function collectKeyValue(node: AST.TOMLKeyValue, parent: KeyPath, lines: Map<string, number>): void {
  const path = [...parent];
  for (const key of node.key.keys) {
    path.push(key.type === 'TOMLBare' ? key.name : key.value);
    note(lines, path, key.loc.start.line);
  }
  collectValue(node.value, path, lines);
}

function collectValue(node: AST.TOMLContentNode, path: KeyPath, lines: Map<string, number>): void {
  if (node.type === 'TOMLInlineTable') {
    for (const child of node.body) collectKeyValue(child, path, lines);
  } else if (node.type === 'TOMLArray') {
    node.elements.forEach((element, index) => {
      note(lines, [...path, index], element.loc.start.line);
      collectValue(element, [...path, index], lines);
    });
  }
}

function nearestLine(lines: ReadonlyMap<string, number>, path: KeyPath): number | null {
  for (let length = path.length; length > 0; length -= 1) {
    const line = lines.get(JSON.stringify(path.slice(0, length)));
    if (line !== undefined) return line;
  }
  return null;
}
