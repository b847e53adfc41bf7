// Named assertions out of the three kinds of report, whole, broken and hostile.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionSchema } from '../../domain/verdict.ts';
import { assertionBounds, readAssertions, type AssertionReading } from '../../tasks/assertions.ts';

const read = (files: Record<string, string>): AssertionReading =>
  readAssertions(
    new Map(Object.entries(files).map(([name, text]) => [name, new TextEncoder().encode(text)])),
  );

const ctrf = (...tests: unknown[]): string =>
  JSON.stringify({ results: { tool: { name: 'pytest' }, summary: { tests: tests.length }, tests } });

const junit = `<?xml version="1.0" encoding="utf-8"?>
<testsuites name="all"><testsuite name="outer"><testsuite name="pytest" tests="4">
<testcase classname="test_x.TestA" name="test_ok" time="0.1"/>
<testcase classname="test_x" name="test_bad"><failure message="assert 1 == 2 &amp; more">long
text</failure></testcase>
<testcase name="test_err"><error>boom</error></testcase>
<testcase classname="test_x" name="test_skip"><skipped message="why"/></testcase>
</testsuite></testsuite></testsuites>
`;

const pytest = `collected 5 items
PASSED tests/test_x.py::printed_by_a_test
\u001b[36m\u001b[1m=========================== short test summary info ============================\u001b[0m
\u001b[32mPASSED\u001b[0m test_x.py::\u001b[1mtest_ok\u001b[0m
PASSED test_x.py::test_param[a - b]
FAILED test_x.py::test_param[c - d] - assert [1] - [2]
SKIPPED [2] test_x.py:7: not here
XFAIL test_x.py::test_x - known
ERROR test_x.py::test_e - fixture
FAILED test_x.py::test_bad - assert 1 == 2 - really
1 failed, 1 passed in 0.01s
`;

describe('CTRF', () => {
  it('is read before the others, each status kept', () => {
    const files = {
      'ctrf.json': ctrf(
        { name: 'a', status: 'passed', duration: 1 },
        { name: 'b', status: 'failed', duration: 1, message: 'no' },
        { name: 'c', status: 'pending', duration: 0 },
        { name: 'd', status: 'novel', duration: 0 },
      ),
      'junit.xml': junit,
      'test-stdout.txt': pytest,
    };
    expect(read(files)).toEqual({
      source: 'ctrf',
      assertions: [
        { name: 'a', status: 'passed', message: null },
        { name: 'b', status: 'failed', message: 'no' },
        { name: 'c', status: 'skipped', message: null },
        { name: 'd', status: 'other', message: null },
      ],
      warnings: [],
    });
  });

  it('keeps the worse status of a name that comes twice', () => {
    const twice = ctrf({ name: 'a', status: 'failed' }, { name: 'a', status: 'passed' });
    expect(read({ 'ctrf.json': twice }).assertions).toEqual([{ name: 'a', status: 'failed', message: null }]);
  });

  it.each(['', '{', '[]', '{"results": {}}', '{"results": {"tests": [{"name": 1}]}}'])(
    'that is %j is a warning, and JUnit is tried',
    (text) => {
      const reading = read({ 'ctrf.json': text, 'report.xml': junit });
      expect(reading.source).toBe('junit');
      expect(reading.warnings).toEqual([expect.stringContaining('ctrf.json')]);
    },
  );
});

describe('JUnit XML', () => {
  it('is read from nested suites, failures and errors told apart', () => {
    expect(read({ 'junit.xml': junit, 'test-stdout.txt': pytest })).toEqual({
      source: 'junit',
      assertions: [
        { name: 'test_x.TestA::test_ok', status: 'passed', message: null },
        { name: 'test_x::test_bad', status: 'failed', message: 'assert 1 == 2 & more' },
        { name: 'test_err', status: 'error', message: 'boom' },
        { name: 'test_x::test_skip', status: 'skipped', message: 'why' },
      ],
      warnings: [],
    });
  });

  it('is read from one suite at the root, a bare <failure/> included', () => {
    const text = '<testsuite><testcase name="a"><failure/></testcase><testcase name="1.0"/></testsuite>';
    expect(read({ 'x.xml': text }).assertions).toEqual([
      { name: 'a', status: 'failed', message: null },
      { name: '1.0', status: 'passed', message: null },
    ]);
  });

  it.each([
    ['cut off', junit.slice(0, 300)],
    ['another document', '<html><body/></html>'],
    ['begun by a document type', `<!DOCTYPE x [<!ENTITY a "aaaa">]>${junit}`],
    ['no XML', 'not xml at all'],
    ['nested without end', `${'<testsuite>'.repeat(5000)}${'</testsuite>'.repeat(5000)}`],
  ])('that is %s is a warning, and the output is read', (_, text) => {
    const reading = read({ 'junit.xml': text, 'test-stdout.txt': pytest });
    expect(reading.source).toBe('pytest');
    expect(reading.warnings).toEqual([expect.stringContaining('junit.xml')]);
  });
});

describe('the output of pytest -rA', () => {
  it('is read from its last summary only, colours or not', () => {
    expect(read({ 'test-stdout.txt': pytest })).toEqual({
      source: 'pytest',
      assertions: [
        { name: 'test_x.py::test_ok', status: 'passed', message: null },
        { name: 'test_x.py::test_param[a - b]', status: 'passed', message: null },
        { name: 'test_x.py::test_param[c - d]', status: 'failed', message: 'assert [1] - [2]' },
        { name: 'test_x.py:7', status: 'skipped', message: 'not here' },
        { name: 'test_x.py::test_x', status: 'other', message: 'known' },
        { name: 'test_x.py::test_e', status: 'error', message: 'fixture' },
        { name: 'test_x.py::test_bad', status: 'failed', message: 'assert 1 == 2 - really' },
      ],
      warnings: [],
    });
  });

  it('names nothing where there is no summary', () => {
    expect(read({ 'test-stdout.txt': 'PASSED nothing::here\n' })).toEqual({
      source: null,
      assertions: [],
      warnings: [],
    });
    expect(read({})).toEqual({ source: null, assertions: [], warnings: [] });
  });
});

describe('hostile reports', () => {
  it('are bounded in bytes, count and length', () => {
    const many = ctrf(
      ...Array.from({ length: assertionBounds.count + 1 }, (_, n) => ({ name: `t${n}`, status: 'passed' })),
    );
    const reading = read({ 'ctrf.json': many });
    expect(reading.assertions).toHaveLength(assertionBounds.count);
    expect(reading.warnings).toHaveLength(1);
    const long = read({
      'ctrf.json': ctrf({ name: 'n'.repeat(9999), status: 'failed', message: 'm'.repeat(9999) }),
    });
    expect(long.assertions[0]?.name).toHaveLength(assertionBounds.nameChars);
    expect(long.assertions[0]?.message).toHaveLength(assertionBounds.messageChars);
    const huge = read({ 'ctrf.json': ' '.repeat(assertionBounds.fileBytes + 1) });
    expect(huge).toMatchObject({ source: null, assertions: [] });
    expect(huge.warnings).toHaveLength(1);
  });

  it('never throw, and give assertions that a verdict takes', () => {
    const text = fc.oneof(fc.string({ maxLength: 200 }), fc.json(), fc.constantFrom(junit, pytest, ctrf()));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('ctrf.json', 'a.xml', 'test-stdout.txt'), text), (files) => {
        for (const assertion of read(files).assertions)
          expect(AssertionSchema.parse(assertion)).toEqual(assertion);
      }),
    );
  });
});
