// Named assertions of a verification: CTRF, else JUnit XML, else pytest's -rA text. Whatever the files hold, bounded.
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import type { Assertion } from '../domain/verdict.ts';
import { readJunit } from './junit.ts';

export interface AssertionReading {
  readonly source: 'ctrf' | 'junit' | 'pytest' | null;
  /** One for each name, in the report's order; of a name that comes twice the worse status stands. */
  readonly assertions: readonly Assertion[];
  readonly warnings: readonly string[];
}

export const assertionBounds = {
  fileBytes: 8 * 1024 * 1024,
  count: 10_000,
  nameChars: 400,
  messageChars: 600,
};

/**
 * @param files what lies in /logs/verifier, by name: ctrf.json, any *.xml, and test-stdout.txt are looked at.
 * A report that cannot be read is a warning, and the next kind is tried.
 */
export function readAssertions(files: ReadonlyMap<string, Uint8Array>): AssertionReading {
  const warnings: string[] = [];
  const textOf = (name: string): string | null => {
    const bytes = files.get(name);
    if (bytes === undefined) return null;
    if (bytes.length > assertionBounds.fileBytes) {
      warnings.push(`${name} is over ${assertionBounds.fileBytes} bytes: not read for assertions`);
      return null;
    }
    return new TextDecoder().decode(bytes);
  };
  const attempt = (
    name: string,
    source: 'ctrf' | 'junit' | 'pytest',
    parse: (text: string) => Assertion[] | null,
  ) => {
    const text = textOf(name);
    if (text === null) return null;
    const found = parse(text);
    if (found === null) warnings.push(`${name} is no ${source} report: not read for assertions`);
    if (found === null || found.length === 0) return null;
    if (found.length > assertionBounds.count) {
      warnings.push(`${name} names ${found.length} assertions: the first ${assertionBounds.count} are kept`);
    }
    return { source, assertions: bounded(found), warnings };
  };

  const ctrf = attempt('ctrf.json', 'ctrf', readCtrf);
  if (ctrf !== null) return ctrf;
  for (const name of [...files.keys()].filter((file) => file.endsWith('.xml')).sort()) {
    const junit = attempt(name, 'junit', readJunit);
    if (junit !== null) return junit;
  }
  return attempt('test-stdout.txt', 'pytest', readPytest) ?? { source: null, assertions: [], warnings };
}

const CtrfSchema = z.object({
  results: z.object({
    tests: z.array(
      z.object({
        name: z.string(),
        status: z.enum(['passed', 'failed', 'skipped', 'pending', 'other']).catch('other'),
        message: z.string().nullish().catch(null),
      }),
    ),
  }),
});

function readCtrf(text: string): Assertion[] | null {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // Said as a warning by the caller: the file is no report.
    return null;
  }
  const report = CtrfSchema.safeParse(value);
  if (!report.success) return null;
  return report.data.results.tests.map(({ name, status, message }) => ({
    name,
    status: status === 'pending' ? 'skipped' : status,
    message: message ?? null,
  }));
}

const pytestStatus: Readonly<Record<string, Assertion['status']>> = {
  PASSED: 'passed',
  FAILED: 'failed',
  ERROR: 'error',
  SKIPPED: 'skipped',
  XFAIL: 'other',
  XPASS: 'other',
};

// A skip is `file:line: reason`; the others are `nodeid - message`, and parameters in brackets may hold a dash.
const skipShape = /^(.+?:\d+): (.*)$/;
const nodeShape = /^([^[]*?(?:\[.*?\])?) - (.*)$/;

const lineChars = 4096;

/** The lines of the last short summary that `pytest -rA` prints. */
function readPytest(text: string): Assertion[] {
  const lines = stripVTControlCharacters(text).split(/\r?\n/);
  const start = lines.findLastIndex((line) => /^=+ short test summary info =+$/.test(line));
  if (start < 0) return [];
  return lines.slice(start + 1).flatMap((line) => {
    const match = /^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (?:\[\d+\] )?(.+)$/.exec(
      line.slice(0, lineChars),
    );
    const status = pytestStatus[match?.[1] ?? ''];
    if (match?.[2] === undefined || status === undefined) return [];
    const shape = status === 'skipped' ? skipShape : nodeShape;
    const [, name = match[2], message = null] = shape.exec(match[2]) ?? [];
    return [{ name, status, message }];
  });
}

const worst: readonly Assertion['status'][] = ['failed', 'error', 'other', 'skipped', 'passed'];

function bounded(found: readonly Assertion[]): Assertion[] {
  const byName = new Map<string, Assertion>();
  for (const assertion of found.slice(0, assertionBounds.count)) {
    const name = assertion.name.slice(0, assertionBounds.nameChars);
    const message =
      assertion.message === null ? null : assertion.message.slice(0, assertionBounds.messageChars);
    const earlier = byName.get(name);
    if (earlier === undefined || worst.indexOf(assertion.status) < worst.indexOf(earlier.status)) {
      byName.set(name, { name, status: assertion.status, message });
    }
  }
  return [...byName.values()];
}
