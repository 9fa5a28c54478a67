import { expect, it } from 'vitest';
import { plainOutput } from './output-screen.tsx';

it('leaves ordinary text unchanged', () => {
  expect(plainOutput('a\tb\n  c ✓ [31m')).toBe('a\tb\n  c ✓ [31m');
});

it('removes colours, links, titles and control characters', () => {
  expect(plainOutput('\u001b[1;31mred\u001b[0m')).toBe('red');
  expect(plainOutput('\u001b]8;;https://example.org\u0007link\u001b]8;;\u0007')).toBe('link');
  expect(plainOutput('\u001b]0;title\u001b\\after\u0000\u0007!')).toBe('after!');
  expect(plainOutput('cut \u001b[3')).toBe('cut 3');
});

it('shows the last state of an overwritten line', () => {
  expect(plainOutput('10 %\r50 %\r100 %\ndone\r\nend')).toBe('100 %\ndone\nend');
});
