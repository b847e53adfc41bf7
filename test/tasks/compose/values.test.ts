// Single values of a compose file: templates, files of variables, words, durations, amounts, ports.
import { describe, expect, it } from 'vitest';
import { parseBytesAsMiB, parseDuration, parsePorts } from '../../../tasks/compose/amounts.ts';
import { readEnvFile } from '../../../tasks/compose/env-file.ts';
import { interpolate } from '../../../tasks/compose/interpolation.ts';
import { onlyWaits, splitWords } from '../../../tasks/compose/words.ts';

describe('a template', () => {
  const variables = new Map([
    ['A', 'a'],
    ['EMPTY', ''],
  ]);
  it.each([
    ['$A-${A}b', 'a-ab'],
    ['$$A $${A} $1 5$', '$A ${A} $1 5$'],
    ['${EMPTY:-x}${EMPTY-y}', 'x'],
    ['${NO:-${ALSO:-${A}}/z}', 'a/z'],
    ['${A:+set}${EMPTY:+no}${EMPTY+yes}${NO+no}', 'setyes'],
    ['${A:?why}', 'a'],
    ['${NO:-$$}', '$'],
    ['http://${A}:80/{x}', 'http://a:80/{x}'],
  ])('%s is %s', (text, expected) => {
    expect(interpolate(text, variables)).toEqual({ text: expected, missing: [], fault: null });
  });

  it.each([
    ['${NO}-$NO2', ['NO', 'NO2'], null],
    ['${NO:?is needed by ${A}}', [], 'needs the variable NO: is needed by a'],
    ['${', [], 'has a ${ that nothing closes'],
    ['${A/b/c}', [], 'has ${A/b/c}, which is no template of compose'],
    ['${}', [], 'has ${}, which is no template of compose'],
  ])('%s says what is missing or wrong', (text, missing, fault) => {
    expect(interpolate(text, variables)).toMatchObject({ missing, fault });
  });
});

describe('a file of variables', () => {
  it('has quotes, comments, export and values of several lines', () => {
    const read = readEnvFile(
      ['# c', '', 'A=1', 'export B = two words # c', "C='$x # y'", 'D="a\\tb', 'c" # c', 'E=', 'F=a#b'].join(
        '\r\n',
      ),
    );
    expect(read.ok && Object.fromEntries([...read.values].map(([name, { text }]) => [name, text]))).toEqual({
      ...{ A: '1', B: 'two words', C: '$x # y', D: 'a\tb\nc', E: '', F: 'a#b' },
    });
    expect(read.ok && read.values.get('C')?.literal).toBe(true);
  });

  it.each([
    ['A=1\nnonsense\n', 2],
    ['\nA="open\nmore\n', 2],
  ])('names the line that is none: %j', (text, line) => {
    expect(readEnvFile(text)).toEqual({ ok: false, line });
  });
});

it.each([
  ['python  app.py', ['python', 'app.py']],
  [`sh -c 'a "b" $C'`, ['sh', '-c', 'a "b" $C']],
  ['a "b \\" c" \'\' d\\ e', ['a', 'b " c', '', 'd e']],
  ['', []],
  ['a "b', null],
  ['a \\', null],
])('the command %j is the words %j', (text, words) => {
  expect(splitWords(text)).toEqual(words);
});

it.each([
  [['sh', '-c', 'sleep infinity'], true],
  [['sleep', 'infinity'], true],
  [['/bin/bash', '-lc', 'exec sleep 99999'], true],
  [['tail', '-f', '/dev/null'], true],
  [['bash'], true],
  [['sh', '-c', 'while true; do sleep 60; done'], true],
  [['sleep', '5'], false],
  [['sh', '-c', 'start-service && sleep infinity'], false],
  [['bash', 'run.sh'], false],
])('%j only waits for the agent: %s', (argv, waits) => {
  expect(onlyWaits(argv)).toBe(waits);
});

it.each([
  ['1m30s', 90],
  ['500ms', 0.5],
  ['1h5m', 3900],
  ['0', 0],
  ['10', null],
  ['1s x', null],
])('the duration %s is %s seconds', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

it.each([
  ['512m', 512],
  ['2gb', 2048],
  ['1Gi', 1024],
  [1_048_576, 1],
  ['1024k', 1],
  ['lots', null],
  [0, null],
])('%s is %s MiB', (amount, mib) => {
  expect(parseBytesAsMiB(amount)).toBe(mib);
});

it.each([
  ['8080', ['8080/tcp']],
  ['80:8080/udp', ['8080/udp']],
  ['127.0.0.1:80-81:9000-9001', ['9000/tcp', '9001/tcp']],
  ['0', null],
  ['web', null],
])('the ports of %s are %j', (text, ports) => {
  expect(parsePorts(text)?.map(({ port, protocol }) => `${port}/${protocol}`) ?? null).toEqual(ports);
});
