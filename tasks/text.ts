// Bytes of a task's file as text.

/** UTF-8 text without its byte order mark; null where it is no UTF-8, or holds NUL. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** An instruction without the comment lines at its head that name a canary, and the blank lines after them. */
export function stripCanary(text: string): string {
  const lines = text.split('\n');
  let kept = 0;
  const isCanary = (line: string): boolean => /^\s*(#|<!--|\/\/|;|%).*canary/i.test(line);
  for (;;) {
    const next = lines.findIndex((line, index) => index >= kept && line.trim() !== '');
    if (next < 0 || !isCanary(lines[next] ?? '')) break;
    kept = next + 1;
  }
  if (kept === 0) return text;
  while (kept < lines.length && lines[kept]?.trim() === '') kept += 1;
  return lines.slice(kept).join('\n');
}
