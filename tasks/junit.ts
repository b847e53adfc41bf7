// JUnit XML: test cases of all suites, however deep they are nested within bounds.
import { XMLParser } from 'fast-xml-parser';
import { z } from 'zod';
import type { Assertion } from '../domain/verdict.ts';

const attribute = z.string().optional();
const detail = z.union([z.string(), z.looseObject({ '@message': attribute, '#text': attribute })]);
const TestCaseSchema = z.looseObject({
  '@name': z.string(),
  '@classname': attribute,
  failure: z.array(detail).optional(),
  error: z.array(detail).optional(),
  skipped: z.array(detail).optional(),
});

const lists: ReadonlySet<string> = new Set(['testsuite', 'testcase', 'failure', 'error', 'skipped']);

/**
 * Null where the text is no JUnit XML. A document that is cut off is none; nor is one with a document type: entities
 * are a way to grow without end.
 */
export function readJunit(text: string): Assertion[] | null {
  if (/<!DOCTYPE/i.test(text) || !/(?:<\/testsuites?>|\/>)\s*$/.test(text)) return null;
  let document: unknown;
  try {
    document = new XMLParser({
      ignoreAttributes: false,
      attributeNamePrefix: '@',
      parseTagValue: false,
      parseAttributeValue: false,
      isArray: (name) => lists.has(name),
    }).parse(text);
  } catch {
    // Said as a warning by the caller: the file is no report.
    return null;
  }
  if (!isObject(document)) return null;
  const { testsuites, testsuite } = document;
  if (testsuites === undefined && testsuite === undefined) return null;
  const cases: Assertion[] = [];
  collect(testsuites ?? document, cases);
  return cases;
}

function collect(suite: unknown, cases: Assertion[]): void {
  if (!isObject(suite)) return;
  for (const value of asArray(suite['testcase'])) {
    const parsed = TestCaseSchema.safeParse(value);
    if (parsed.success) cases.push(assertionOf(parsed.data));
  }
  for (const inner of asArray(suite['testsuite'])) collect(inner, cases);
}

function assertionOf(test: z.infer<typeof TestCaseSchema>): Assertion {
  const classname = test['@classname'];
  const name = classname === undefined || classname === '' ? test['@name'] : `${classname}::${test['@name']}`;
  for (const [kind, status] of [
    ['failure', 'failed'],
    ['error', 'error'],
    ['skipped', 'skipped'],
  ] as const) {
    const [found] = test[kind] ?? [];
    if (found === undefined) continue;
    return {
      name,
      status,
      message: typeof found === 'string' ? found || null : (found['@message'] ?? found['#text'] ?? null),
    };
  }
  return { name, status: 'passed', message: null };
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
