// What bands says of itself.
import { expect, it } from 'vitest';
import { bandsCommand, formatCoverage } from '../../cli/bands.ts';
import { bands } from '../../domain/bands.ts';

it('says in its help what each band means', () => {
  let help = '';
  bandsCommand()
    .configureOutput({ writeOut: (text) => (help += text) })
    .outputHelp();
  for (const band of bands) expect(help).toMatch(new RegExp(`^  ${band} +\\S`, 'm'));
  expect(help).toMatch(/central +1\/4 to 3\/4, both included/);
});

it('says beside the labels how much of the sweep they are, and which tasks have none', () => {
  expect(formatCoverage('s', { planned: 8, counted: 6, rejected: [] })).toBe(
    'sweep s: 6 of 8 planned trials counted (coverage 0.750)',
  );
  const rejected = [
    { task: 'me/x', reason: 'invalid' },
    { task: 'me/y', reason: 'nop-passes' },
  ];
  expect(formatCoverage('s', { planned: 0, counted: 0, rejected }).split('\n')).toEqual([
    'sweep s: 0 of 0 planned trials counted (coverage 0.000)',
    'sweep s: no label for 2 rejected: me/x (invalid), me/y (nop-passes)',
  ]);
});
