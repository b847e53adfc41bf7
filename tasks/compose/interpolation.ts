// Variables in a compose file, as its specification has them: $X, ${X}, :- - :? ? :+ +, nested defaults, $$ for a dollar.

export type Variables = ReadonlyMap<string, string>;

export interface Interpolated {
  readonly text: string;
  /** Names that nobody gives and that have no default. */
  readonly missing: readonly string[];
  /** What is wrong with a template, or a `:?` that says so itself; null where nothing is. */
  readonly fault: string | null;
}

const name = /[A-Za-z_][A-Za-z0-9_]*/y;

/** Replaces the templates of one value. A variable that is missing leaves nothing in its place. */
export function interpolate(value: string, variables: Variables): Interpolated {
  const missing: string[] = [];
  let fault: string | null = null;

  const nameAt = (text: string, at: number): string | null => {
    name.lastIndex = at;
    return name.exec(text)?.[0] ?? null;
  };

  const expand = (text: string): string => {
    let out = '';
    let at = 0;
    while (at < text.length) {
      const dollar = text.indexOf('$', at);
      if (dollar < 0) return out + text.slice(at);
      out += text.slice(at, dollar);
      const next = text[dollar + 1];
      if (next === '$') {
        out += '$';
        at = dollar + 2;
      } else if (next === '{') {
        const end = closing(text, dollar + 2);
        if (end === null) {
          fault ??= `has a \${ that nothing closes`;
          return out;
        }
        out += braced(text.slice(dollar + 2, end));
        at = end + 1;
      } else {
        const variable = nameAt(text, dollar + 1);
        out += variable === null ? '$' : given(variable);
        at = dollar + 1 + (variable?.length ?? 0);
      }
    }
    return out;
  };

  const given = (variable: string): string => {
    const found = variables.get(variable);
    if (found === undefined) missing.push(variable);
    return found ?? '';
  };

  const braced = (inside: string): string => {
    const variable = nameAt(inside, 0);
    const rest = variable === null ? '' : inside.slice(variable.length);
    if (variable === null) return refuse(inside);
    if (rest === '') return given(variable);
    const [, colon, operator, operand = ''] = /^(:?)([-?+])([\s\S]*)$/.exec(rest) ?? [];
    if (operator === undefined) return refuse(inside);
    const found = variables.get(variable);
    const set = found !== undefined && (colon === '' || found !== '');
    if (operator === '+') return set ? expand(operand) : '';
    if (set) return found;
    if (operator === '-') return expand(operand);
    fault ??= `needs the variable ${variable}: ${operand === '' ? 'it is not given' : expand(operand)}`;
    return '';
  };

  const refuse = (inside: string): string => {
    fault ??= `has \${${inside}}, which is no template of compose`;
    return '';
  };

  const text = expand(value);
  return { text, missing, fault };
}

/** The brace that closes a template, nested ones passed over. */
function closing(text: string, from: number): number | null {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '$' && text[at + 1] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return null;
}
