import { expect, it } from 'vitest';
import { authorText, linesText, restText, sendText, stateLabel } from './comment-text.ts';

it('names the lines, and the version if it is the former one', () => {
  expect(linesText({ side: 'new', line: 3, endLine: 3 })).toBe('line 3');
  expect(linesText({ side: 'old', line: 3, endLine: 5 })).toBe('lines 3 to 5, before');
});

it('says how far a comment is, and that its code has changed', () => {
  const state = (
    state: 'draft' | 'sent' | 'answered' | 'outdated',
    answeredAt: string | null = null,
    hasMoved = false,
  ) => stateLabel({ state, answeredAt, hasMoved, isFinding: false });
  expect([state('draft'), state('draft', null, true), state('sent'), state('answered', 'then')]).toEqual([
    'Draft',
    'Draft, the code has changed',
    'Sent',
    'Claude replied',
  ]);
  expect(stateLabel({ state: 'draft', answeredAt: null, hasMoved: false, isFinding: true })).toBe('Not sent');
  expect([state('outdated', null, true), state('outdated', 'then', true)]).toEqual(['Sent, outdated', 'Answered']);
});

it('names the author, the button and the rest', () => {
  expect(authorText({ author: 'Ada', isFinding: false }, 'Ada')).toBe('You');
  expect(authorText({ author: 'Bo', isFinding: false }, 'Ada')).toBe('Bo');
  expect(authorText({ author: 'Claude', isFinding: true }, 'Ada')).toBe('Claude’s review');
  expect(sendText(1)).toBe('Ask for changes (1 comment)');
  expect(restText([{ state: 'draft' }, { state: 'sent' }, { state: 'answered' }, { state: 'sent' }])).toBe(
    '2 sent, 1 replied to',
  );
  expect(restText([{ state: 'draft' }])).toBe('');
});
