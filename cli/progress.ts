// The live progress of a sweep on stderr: a bar with ETA on a terminal, a line now and then elsewhere.
import { Presets, SingleBar } from 'cli-progress';
import type { SweepProgress } from '../workflows/reports.ts';

/** Between two lines where stderr is no terminal. */
const lineEveryMs = 15_000;

const listed = (counts: Readonly<Partial<Record<string, number>>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count ?? 0}`)
    .join(', ') || 'none yet';

/** A sweep's progress in one line. */
export function progressLine(progress: SweepProgress): string {
  const { gates } = progress;
  const openGates = gates.open + gates.inFlight;
  const trials =
    progress.planned === 0
      ? []
      : [
          `${progress.counted}/${progress.planned} counted (coverage ${(progress.counted / progress.planned).toFixed(3)})`,
          `${progress.inFlight} running`,
        ];
  const results =
    progress.planned === 0
      ? []
      : [`results: ${listed(progress.results)}`, `endings: ${listed(progress.endings)}`];
  const parts = [
    ...trials,
    ...(progress.waiting > 0 ? [`${progress.waiting} waiting`] : []),
    ...(progress.parked > 0 ? [`${progress.parked} parked`] : []),
    ...progress.paused.map((line) => `paused: ${line}`),
    ...(openGates > 0 || progress.planned === 0
      ? [`${openGates} gates to pass (${gates.inFlight} running)`]
      : []),
    ...results,
    ...(Object.keys(progress.failures).length > 0 ? [`failures: ${listed(progress.failures)}`] : []),
    ...(Object.keys(progress.lostGenerations).length > 0
      ? [`begun anew: ${listed(progress.lostGenerations)}`]
      : []),
  ];
  return parts.join(' | ');
}

export interface ProgressView {
  update(progress: SweepProgress): void;
  /** A line above the bar. */
  readonly say: (line: string) => void;
  end(): void;
}

/** A pause for a model names it in its line; one for the store or the platform names none. */
const waitingText = ({ paused }: SweepProgress): string =>
  paused.length > 0 && paused.every((line) => /\bmodel\b/.test(line))
    ? ' | waits for the model'
    : ' | waits for what is away';

/** Whether nothing can finish: all that is left waits for a model, the store or the platform to be back. */
const isWaiting = ({ inFlight, gates, parked, paused }: SweepProgress): boolean =>
  inFlight === 0 && gates.inFlight === 0 && (parked > 0 || paused.length > 0);

/**
 * ` | ETA 40 s` by the pace since the first call, less the time in which nothing could finish: then it says what is
 * waited for. Empty while there is none. `now` in milliseconds.
 */
export function etaSince(now: () => number): (progress: SweepProgress) => string {
  let began: { readonly at: number; readonly counted: number } | null = null;
  let waitsSince: number | null = null;
  return (progress) => {
    const { counted, planned } = progress;
    began ??= { at: now(), counted };
    if (isWaiting(progress)) {
      waitsSince ??= now();
      return waitingText(progress);
    }
    if (waitsSince !== null) began = { ...began, at: began.at + now() - waitsSince };
    waitsSince = null;
    const done = counted - began.counted;
    if (done <= 0) return '';
    return ` | ETA ${Math.ceil((((now() - began.at) / done) * (planned - counted)) / 1_000)} s`;
  };
}

export function progressView(stream: NodeJS.WriteStream = process.stderr): ProgressView {
  const say = (line: string): void => {
    stream.write(`${line}\n`);
  };
  const eta = etaSince(() => performance.now());
  if (!stream.isTTY) {
    let lastAt = -Infinity;
    let lastLine = '';
    return {
      say,
      end: () => {},
      update(progress) {
        const line = `${progressLine(progress)}${eta(progress)}`;
        if (line === lastLine || performance.now() - lastAt < lineEveryMs) return;
        [lastAt, lastLine] = [performance.now(), line];
        say(line);
      },
    };
  }
  const bar = new SingleBar(
    { format: '{bar} {percentage}%{eta} | {line}', stream, hideCursor: true, fps: 4 },
    Presets.rect,
  );
  let started = false;
  return {
    say(line) {
      if (started) stream.write('\r\u001b[2K');
      say(line);
    },
    end() {
      if (started) bar.stop();
    },
    update(progress) {
      const [done, all] = doneOf(progress);
      const shown = { line: progressLine(progress), eta: eta(progress) };
      if (started) {
        bar.setTotal(all);
        bar.update(done, shown);
      } else {
        bar.start(all, done, shown);
        started = true;
      }
    },
  };
}

/** How far the bar is, and how long: by trials, where there are none by gates. */
function doneOf({ planned, counted, failures, gates, rejected }: SweepProgress): readonly [number, number] {
  if (planned > 0) return [counted + Object.values(failures).reduce((sum, n) => sum + n, 0), planned];
  const lost = Object.values(rejected).reduce((sum, tasks) => sum + tasks.length, 0);
  const done = gates.kept + gates.unaudited + lost;
  return [done, done + gates.open + gates.inFlight];
}
