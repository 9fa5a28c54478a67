import { expect, it } from 'vitest';
import { authorWords, linesWords, restWords, sendWords, stateWords } from './comment-words.ts';

it('names the lines, and the version if it is the former one', () => {
  expect(linesWords({ side: 'new', line: 3, endLine: 3 })).toBe('line 3');
  expect(linesWords({ side: 'old', line: 3, endLine: 5 })).toBe('lines 3 to 5, before');
});

it('says how far a comment is, and that its code has changed', () => {
  const state = (
    state: 'draft' | 'sent' | 'answered' | 'outdated',
    answeredAt: string | null = null,
    hasMoved = false,
  ) => stateWords({ state, answeredAt, hasMoved, isFinding: false });
  expect([state('draft'), state('draft', null, true), state('sent'), state('answered', 'then')]).toEqual([
    'Draft',
    'Draft, the code has changed',
    'Sent',
    'Answered',
  ]);
  expect(stateWords({ state: 'draft', answeredAt: null, hasMoved: false, isFinding: true })).toBe('Not sent');
  expect([state('outdated', null, true), state('outdated', 'then', true)]).toEqual([
    'Sent, outdated',
    'Answered, outdated',
  ]);
});

it('names the author, the button and the rest', () => {
  expect(authorWords({ author: 'Ada', isFinding: false }, 'Ada')).toBe('You');
  expect(authorWords({ author: 'Bo', isFinding: false }, 'Ada')).toBe('Bo');
  expect(authorWords({ author: 'Claude', isFinding: true }, 'Ada')).toBe('Claude’s review');
  expect(sendWords(1)).toBe('Ask for changes (1 comment)');
  expect(restWords([{ state: 'draft' }, { state: 'sent' }, { state: 'answered' }, { state: 'sent' }])).toBe(
    '2 sent, 1 answered',
  );
  expect(restWords([{ state: 'draft' }])).toBe('');
});
