// Amounts as task.toml may write them: CPUs as a Kubernetes quantity, memory and storage with a suffix.

const memoryFactors: Readonly<Record<string, number>> = {
  K: 1 / 1024,
  M: 1,
  G: 1024,
  T: 1024 * 1024,
};

/** Cores: `2`, `1.5`, `"500m"`. Null where it is no such quantity (zero and below included). */
export function parseCpus(value: string | number): number | null {
  if (typeof value === 'number') return positive(value);
  const match = /^(\d+(?:\.\d+)?)(m?)$/.exec(value.trim());
  if (match === null) return null;
  return positive(Number(match[1]) / (match[2] === 'm' ? 1000 : 1));
}

/**
 * MiB: a number is MB as the format means it (MiB), a string may end in K, M, G, T or Ki, Mi, Gi, Ti, which mean
 * the same powers of 1024 here as they do in the format. Null where it is no such amount.
 */
export function parseMiB(value: string | number): number | null {
  if (typeof value === 'number') return positive(value);
  const match = /^(\d+(?:\.\d+)?)\s*(?:([KMGT])i?)?$/i.exec(value.trim());
  if (match === null) return null;
  return positive(Number(match[1]) * (memoryFactors[(match[2] ?? 'M').toUpperCase()] ?? 1));
}

function positive(value: number): number | null {
  return Number.isFinite(value) && value > 0 ? value : null;
}
