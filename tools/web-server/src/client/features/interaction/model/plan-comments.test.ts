import { expect, it } from 'vitest';
import { planBlocks, quoteOf, sendBackReason, withBegun } from './plan-comments.ts';

it('cuts a plan into what can be commented on, and keeps code and nested lists whole', () => {
  const plan = '# Title\nIntro\n\n- one\n- two\n\n  more of two\n\n```ts\na();\n\nb();\n```\nLast';
  expect(planBlocks(plan)).toEqual([
    '# Title',
    'Intro',
    '- one\n- two\n\n  more of two',
    '```ts\na();\n\nb();\n```\nLast',
  ]);
});

it('quotes the first line of a paragraph without its marks', () => {
  expect(quoteOf('## The **route**\nmore')).toBe('The route');
  expect(quoteOf('1. Add `a.ts`')).toBe('Add a.ts');
  expect(quoteOf('```ts\ncode();\n```')).toBe('code();');
});

it('puts each comment under its words, and the reason at the end', () => {
  const comments = [
    { id: '1', block: 0, quote: 'one\ntwo', text: 'Why? ' },
    { id: '2', block: 3, quote: 'three', text: 'No' },
  ];
  expect(sendBackReason(comments, ' Smaller ')).toBe('> one\n> two\nWhy?\n\n> three\nNo\n\nSmaller');
  expect(sendBackReason([], '')).toBe('');
});

it('takes along the comment that was begun and not added', () => {
  const added = { id: '1', block: 0, quote: 'one', text: 'Why?' };
  const begun = { block: 3, quote: 'three', text: 'No ' };
  expect(sendBackReason(withBegun([added], begun), '')).toBe('> one\nWhy?\n\n> three\nNo');
  expect(withBegun([added], null)).toEqual([added]);
});
