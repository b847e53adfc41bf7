// How many of a reply's ids are thinking: told by a server's parser, or by the tag in its text.
import { expect, it } from 'vitest';
import { ThinkingGauge } from '../../model/thinking-gauge.ts';

const nothing = { text: '', thinks: false, speaks: false };

it('counts what came before a parser lets the first word through', () => {
  const gauge = new ThinkingGauge();
  gauge.take({ ...nothing, thinks: true }, 0);
  gauge.take({ ...nothing, thinks: true }, 3);
  gauge.take(nothing, 5); // the closing tag, held back
  gauge.take({ text: 'So', thinks: false, speaks: true }, 6);
  expect(gauge.ids(9, 'stop')).toBe(6);
});

it('takes a reply that never spoke for thinking, less the id that ended it', () => {
  const gauge = new ThinkingGauge();
  gauge.take({ ...nothing, thinks: true }, 0);
  expect([gauge.ids(4, 'length'), gauge.ids(4, 'stop')]).toEqual([4, 3]);
});

it('finds a closing tag that comes in pieces of the text', () => {
  const gauge = new ThinkingGauge();
  for (const [at, text] of ['<think>', 'hm', '</th', 'ink>', 'So'].entries())
    gauge.take({ text, thinks: false, speaks: true }, at);
  expect(gauge.ids(5, 'stop')).toBe(3);
  expect(new ThinkingGauge().ids(5, 'stop')).toBe(0);
});

it('takes another tag for the closing one where it is told', () => {
  const gauge = new ThinkingGauge('<channel|>');
  for (const [at, text] of ['thought', '<channel|>', 'So'].entries())
    gauge.take({ text, thinks: false, speaks: true }, at);
  expect(gauge.ids(3, 'stop')).toBe(1);
});
