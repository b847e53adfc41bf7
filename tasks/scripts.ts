// Scripts as they were written and as they run: what is mended in the package, and what a look at them can tell.
import { basename } from 'node:path';
import type { Findings } from './findings.ts';
import { decodeText } from './text.ts';

// What the harness itself starts by its name.
const entryPoints: ReadonlySet<string> = new Set(['test.sh', 'solve.sh', 'setup.sh']);

export interface MendedScript {
  readonly text: string;
  readonly content: Uint8Array;
  readonly executable: boolean;
  /** What was mended, for people; empty where nothing was. */
  readonly mends: readonly string[];
}

/** Files over this are data, whatever their names say. */
export const scriptLimitBytes = 1024 * 1024;

/**
 * A script ready to run under Linux: no byte order mark, no CRLF, a first line that names its interpreter, its exec
 * bit set. Null where the file is no script: neither .sh nor begun by `#!`. Data is never touched.
 */
export function mendScript(path: string, bytes: Uint8Array, executable: boolean): MendedScript | null {
  const text = decodeText(bytes);
  if (text === null || !(path.endsWith('.sh') || text.startsWith('#!'))) return null;
  const mends: string[] = [];
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) mends.push('a byte order mark');
  let mended = text;
  if (/\r(?=\n|$)/.test(mended)) {
    mended = mended.replace(/\r+(?=\n|$)/g, '');
    mends.push('CRLF line ends');
  }
  const started = entryPoints.has(basename(path));
  if (started && !mended.startsWith('#!')) {
    // A shell that starts a script without one runs it itself: bash, in the format's own harness.
    mended = `#!/bin/bash\n${mended}`;
    mends.push('no #! line (now #!/bin/bash)');
  }
  const runs = executable || started || (path.endsWith('.sh') && mended.startsWith('#!'));
  if (runs && !executable) mends.push('no exec bit');
  return { text: mended, content: new TextEncoder().encode(mended), executable: runs, mends };
}

/** Text of every script and small source file of a tests folder, by path inside the task. */
export type ScriptTexts = ReadonlyMap<string, string>;

/** Says where the tests of these folders never name a reward file, or name the one that nothing reads. */
export function lintRewards(texts: ScriptTexts, testScript: string, findings: Findings): void {
  const all = [...texts.values()].join('\n');
  if (/\breward\.(?:txt|json)\b/.test(all)) return;
  const plural = /\brewards\.json\b/.test(all);
  findings.warn(
    { file: testScript },
    plural
      ? 'names rewards.json, which nothing reads: the file is /logs/verifier/reward.json'
      : 'never names a reward file: it must write /logs/verifier/reward.txt or reward.json',
  );
}

const downloads =
  /\b(?:pip3?|uv pip) install\b(?!.*--no-index)|\bapt(?:-get)? (?:-\S+ )*install\b|\bapk add\b|\b(?:dnf|yum) (?:-\S+ )*install\b|\b(?:npm|pnpm|yarn|gem|cargo|conda|go) (?:install|add|ci)\b|\buvx?\s+(?:run|tool|--with)\b|\buvx\b|\bgit clone\b|\bhf_hub_download\b|\b(?:curl|wget)\b.*\bhttps?:\/\/(?!localhost|127\.|\[::1\]|0\.0\.0\.0)|\burlretrieve\(\s*["']https?:\/\/(?!localhost|127\.)/;

/** Says where tests download at run time: they run offline. One message a file. */
export function lintDownloads(texts: ScriptTexts, findings: Findings): void {
  for (const [file, text] of texts) {
    const lines = text.split('\n');
    const at = lines.findIndex((line) => !/^\s*#/.test(line) && downloads.test(line));
    if (at < 0) continue;
    findings.warn(
      { file, line: at + 1 },
      `downloads when it runs, and tests run offline: put it in the image (${(lines[at] ?? '').trim().slice(0, 80)})`,
    );
  }
}
