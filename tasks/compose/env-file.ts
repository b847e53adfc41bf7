// Files of variables, as env_file and .env have them: NAME=value lines, quotes, comments, export.

export type EnvFile =
  | { readonly ok: true; readonly values: ReadonlyMap<string, EnvFileValue> }
  | { readonly ok: false; readonly line: number };

export interface EnvFileValue {
  readonly text: string;
  /** Single quotes keep a value as it is; elsewhere it may hold templates. */
  readonly literal: boolean;
}

const assignment = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*[=:]\s*([\s\S]*)$/;
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' };

/** The file's values in order; the first line that is none of the forms where there is one. */
export function readEnvFile(text: string): EnvFile {
  const values = new Map<string, EnvFileValue>();
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = (lines[at] ?? '').trim();
    if (line === '' || line.startsWith('#')) continue;
    const [, name, first = ''] = assignment.exec(line) ?? [];
    if (name === undefined) return { ok: false, line: at + 1 };
    const quote = first[0] === '"' || first[0] === "'" ? first[0] : null;
    if (quote === null) {
      values.set(name, { text: first.replace(/\s+#.*$/, '').trim(), literal: false });
      continue;
    }
    let whole = first;
    const begun = at;
    while (endOf(whole, quote) === null && at + 1 < lines.length) {
      at += 1;
      whole += `\n${lines[at] ?? ''}`;
    }
    const end = endOf(whole, quote);
    if (end === null) return { ok: false, line: begun + 1 };
    values.set(name, unquoted(whole.slice(1, end), quote));
  }
  return { ok: true, values };
}

function endOf(text: string, quote: string): number | null {
  for (let at = 1; at < text.length; at += 1) {
    if (quote === '"' && text[at] === '\\') at += 1;
    else if (text[at] === quote) return at;
  }
  return null;
}

function unquoted(inside: string, quote: string): EnvFileValue {
  if (quote === "'") return { text: inside, literal: true };
  return {
    text: inside.replace(/\\([nrt"\\])/g, (_, letter: string) => escapes[letter] ?? letter),
    literal: false,
  };
}
