// What bands says of itself.
import { expect, it } from 'vitest';
import { bandsCommand } from '../../cli/bands.ts';
import { bands } from '../../domain/bands.ts';

it('says in its help what each band means', () => {
  let help = '';
  bandsCommand()
    .configureOutput({ writeOut: (text) => (help += text) })
    .outputHelp();
  for (const band of bands) expect(help).toMatch(new RegExp(`^  ${band} +\\S`, 'm'));
  expect(help).toMatch(/central +1\/4 to 3\/4, both included/);
});
