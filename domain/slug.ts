// Names made safe for object keys, labels and headers.

/**
 * A slug of a name: [A-Za-z0-9._-], beginning with a letter or digit. `/` becomes `--`, any other character
 * its code point between underscores, so that different names get different slugs in all but contrived cases
 * (a plan checks that its slugs are unique).
 */
export function slugOf(name: string): string {
  const safe = Array.from(name, (char) => {
    if (/[A-Za-z0-9._-]/.test(char)) return char;
    return char === '/' ? '--' : `_${(char.codePointAt(0) ?? 0).toString(16)}_`;
  }).join('');
  return /^[A-Za-z0-9]/.test(safe) ? safe : `x${safe}`;
}
