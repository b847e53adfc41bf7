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
  const coverage = progress.planned === 0 ? 0 : progress.counted / progress.planned;
  const parts = [
    `${progress.counted}/${progress.planned} counted (coverage ${coverage.toFixed(3)})`,
    `${progress.inFlight} running`,
    ...(progress.waiting > 0 ? [`${progress.waiting} waiting`] : []),
    ...(progress.parked > 0 ? [`${progress.parked} parked`] : []),
    ...progress.paused.map((line) => `paused: ${line}`),
    ...(openGates > 0 ? [`${openGates} gates to pass`] : []),
    `results: ${listed(progress.results)}`,
    `endings: ${listed(progress.endings)}`,
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

export function progressView(stream: NodeJS.WriteStream = process.stderr): ProgressView {
  const say = (line: string): void => {
    stream.write(`${line}\n`);
  };
  if (!stream.isTTY) {
    let lastAt = -Infinity;
    let lastLine = '';
    const began = { at: performance.now(), counted: -1 };
    const eta = (progress: SweepProgress): string => {
      if (began.counted < 0) Object.assign(began, { at: performance.now(), counted: progress.counted });
      const done = progress.counted - began.counted;
      if (done <= 0) return '';
      const leftMs = ((performance.now() - began.at) / done) * (progress.planned - progress.counted);
      return ` | ETA ${Math.ceil(leftMs / 1_000)} s`;
    };
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
    {
      format: '{bar} {percentage}% | ETA {eta_formatted} | {line}',
      stream,
      hideCursor: true,
      etaBuffer: 30,
      fps: 4,
    },
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
      const done = progress.counted + Object.values(progress.failures).reduce((sum, n) => sum + n, 0);
      if (started) {
        bar.setTotal(progress.planned);
        bar.update(done, { line: progressLine(progress) });
      } else {
        bar.start(progress.planned, done, { line: progressLine(progress) });
        started = true;
      }
    },
  };
}
