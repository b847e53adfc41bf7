// A sweep of known-rate models on the test cluster under seeded faults of every kind: nothing lost, twice or wrong.
// node bench/faults.ts [--count N] [--seed S] [--kind NAME]... [--json]
import { parseArgs } from 'node:util';
import type { FaultKind } from './faults/fault.ts';
import { faultKinds } from './faults/kinds.ts';
import { formatReport, isClean } from './faults/report.ts';
import { runFaults } from './faults/run.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    kind: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
  },
});
const whole = (flag: 'count' | 'seed'): number => {
  const value = Number(values[flag]);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`--${flag} ${values[flag]}: it takes a whole number`);
  process.exit(2);
};

/** Those that were named; all of them where none was. */
function chosenKinds(): readonly FaultKind[] {
  const names = faultKinds.map(({ name }) => name);
  const unknown = values.kind.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    console.error(`--kind ${unknown}: it takes one of ${names.join(', ')}`);
    process.exit(2);
  }
  return values.kind.length === 0 ? faultKinds : faultKinds.filter(({ name }) => values.kind.includes(name));
}

const kinds = chosenKinds();
const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(name)));
const report = await runFaults({
  ...{ count: whole('count'), seed: whole('seed'), kinds, signal: stop.signal },
  say: (line) => console.error(`faults: ${line}`),
});
console.log(values.json ? JSON.stringify(report) : formatReport(report));
process.exit(isClean(report) ? 0 : 1);
