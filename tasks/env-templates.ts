// Environment tables of task.toml: values that are templates of the host's variables.

const template = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?\}$/;

export type HostEnv = Readonly<Record<string, string | undefined>>;

/** Names of host variables that a table needs and that have neither a value nor a default, with the keys. */
export function missingVariables(
  table: Readonly<Record<string, string>>,
  host: HostEnv,
): { readonly key: string; readonly variable: string }[] {
  return Object.entries(table).flatMap(([key, value]) => {
    const match = template.exec(value);
    const variable = match?.[1];
    return variable !== undefined && match?.[2] === undefined && host[variable] === undefined
      ? [{ key, variable }]
      : [];
  });
}

/**
 * The table with each whole-value template (`${VAR}`, `${VAR:-default}`) replaced from the host's environment.
 * A task keeps its templates, so that no secret stands in a plan: resolve where the sandbox is made.
 * @throws Error naming the variable that has neither a value nor a default.
 */
export function resolveEnv(table: Readonly<Record<string, string>>, host: HostEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(table).map(([key, value]) => {
      const match = template.exec(value);
      const variable = match?.[1];
      if (variable === undefined) return [key, value];
      const found = host[variable] ?? match?.[2];
      if (found === undefined) throw new Error(`${key} needs the variable ${variable}, which is not set`);
      return [key, found];
    }),
  );
}
