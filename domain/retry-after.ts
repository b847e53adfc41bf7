// The delay that a server asks for before the next try.

/** Nobody is waited for longer than this, whatever a header says. */
const longestRetryAfterMs = 3_600_000;

/** Milliseconds from `retry-after-ms` or `retry-after` (seconds, or an HTTP date against `now`); null where unsaid. */
export function readRetryAfterMs(headers: (name: string) => string | null, now: number): number | null {
  const bounded = (ms: number): number | null =>
    Number.isFinite(ms) ? Math.min(Math.max(0, Math.round(ms)), longestRetryAfterMs) : null;
  const inMs = headers('retry-after-ms');
  if (inMs !== null && inMs.trim() !== '') return bounded(Number(inMs));
  const value = headers('retry-after')?.trim() ?? '';
  if (value === '') return null;
  return bounded(/^[\d.]+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now);
}
