// A solution as keystrokes: its files through base64, so that no shell, editor line or tab key changes a byte, then the run.
import type { KnownStep, SolutionFile } from './known-task.ts';

/** What a Terminus-2 reply types, and how long it waits from then on, in seconds. */
export interface Keys {
  readonly keystrokes: string;
  readonly duration: number;
}

/** Characters of base64 in one heredoc: well below what a terminal takes at once. */
const heredocLimit = 6_000;
const lineLength = 76;

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** No line of base64 has three characters, so none ends the heredoc early. */
const heredoc = (command: string, base64: string): string =>
  `${command} <<'B64'\n${(base64.match(new RegExp(`.{1,${lineLength}}`, 'g')) ?? []).join('\n')}\nB64\n`;

function typeFile(dir: string, file: SolutionFile): Keys[] {
  const path = quote(`${dir}/${file.path}`);
  const base64 = Buffer.from(file.content).toString('base64');
  const mode = file.executable ? `chmod +x ${path}\n` : '';
  if (base64.length <= heredocLimit) {
    return [{ keystrokes: heredoc(`base64 -d > ${path}`, base64) + mode, duration: 0.05 }];
  }
  const parts = base64.match(new RegExp(`.{1,${heredocLimit}}`, 'g')) ?? [];
  const last = `base64 -d ${path}.b64 > ${path}; rm ${path}.b64\n${mode}`;
  return [
    ...parts.map((part) => ({ keystrokes: heredoc(`cat >> ${path}.b64`, part), duration: 0.2 })),
    { keystrokes: last, duration: 0.1 },
  ];
}

/** The interpreter of a script's first line; without one, bash where there is bash. */
function interpreterOf(script: SolutionFile): string {
  const first = Buffer.from(script.content).toString('utf8').split('\n', 1)[0] ?? '';
  const named = /^#!\s*(\S.*?)\s*$/.exec(first)?.[1];
  if (named === undefined) return '$(command -v bash || echo sh)';
  return named.replace(/^(\/usr\/bin\/env\s+|\/bin\/|\/usr\/bin\/)(?=(bash|sh)\b)/, '');
}

/** What the screen shows when the run has ended; the typed line itself does not hold it. */
export const sentinelOf = (tag: string): string => `PASSBAND-DONE-${tag}`;

/**
 * Keystrokes that lay a step's solution outside the work directory, run it there, and take it away again.
 * A solution that names /solution is laid there and stays, as the oracle's does.
 */
export function typeSolution(step: KnownStep, tag: string, withNearMiss: boolean): Keys[] {
  const solve = step.files.find((file) => file.path === 'solve.sh');
  const nearMiss = withNearMiss ? step.files.find((file) => file.path === 'near-miss.sh') : undefined;
  const files = step.files.filter((file) => file.path !== 'near-miss.sh' || file === nearMiss);
  const atHome = files.some((file) => Buffer.from(file.content).includes('/solution'));
  const dir = atHome ? '/solution' : `/tmp/.known-rate-${tag}`;
  const folders = new Set(files.map((file) => `${dir}/${file.path}`.replace(/\/[^/]*$/, '')));
  const env = Object.entries({ DEBIAN_FRONTEND: 'noninteractive', ...step.env }).map(
    ([name, value]) => `${name}=${quote(value)}`,
  );
  const runs = [solve, nearMiss].flatMap((script) =>
    script === undefined
      ? []
      : [`env ${env.join(' ')} ${interpreterOf(script)} ${quote(`${dir}/${script.path}`)} < /dev/null`],
  );
  const tidy = atHome ? '' : `rm -rf ${dir}; `;
  return [
    { keystrokes: `mkdir -p ${[...folders].map(quote).join(' ')}\n`, duration: 0.05 },
    ...files.flatMap((file) => typeFile(dir, file)),
    {
      keystrokes: `${runs.join('; ')}; s=$?; ${tidy}printf '\\nPASSBAND-%s-%s %s\\n' DONE ${tag} $s\n`,
      duration: 0.3,
    },
  ];
}
