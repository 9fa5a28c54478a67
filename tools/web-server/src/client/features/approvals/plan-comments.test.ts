import { expect, it } from 'vitest';
import { planBlocks, quoteOf, sendBackReason, withBegun } from './plan-body.tsx';

it('splits a plan into blocks that can be commented on, and keeps code and nested lists whole', () => {
  const plan = '# Title\nIntro\n\n- one\n- two\n\n  more of two\n\n```ts\na();\n\nb();\n```\nLast';
  expect(planBlocks(plan)).toEqual([
    '# Title',
    'Intro',
    '- one\n- two\n\n  more of two',
    '```ts\na();\n\nb();\n```\nLast',
  ]);
});

it('quotes the first line of a paragraph without its Markdown', () => {
  expect(quoteOf('## The **route**\nmore')).toBe('The route');
  expect(quoteOf('1. Add `a.ts`')).toBe('Add a.ts');
  expect(quoteOf('```ts\ncode();\n```')).toBe('code();');
});

it('puts each comment under the words it is about, and the reason at the end', () => {
  const comments = [
    { id: '1', block: 0, quote: 'one\ntwo', text: 'Why? ' },
    { id: '2', block: 3, quote: 'three', text: 'No' },
  ];
  expect(sendBackReason(comments, ' Smaller ')).toBe('> one\n> two\nWhy?\n\n> three\nNo\n\nSmaller');
  expect(sendBackReason([], '')).toBe('');
});

it('includes a comment that was started but not added', () => {
  const added = { id: '1', block: 0, quote: 'one', text: 'Why?' };
  const begun = { block: 3, quote: 'three', text: 'No ' };
  expect(sendBackReason(withBegun([added], begun), '')).toBe('> one\nWhy?\n\n> three\nNo');
  expect(withBegun([added], null)).toEqual([added]);
});
