import { expect, it } from 'vitest';
import { composerWords, modeOfKey } from './composer-words.ts';

const key = (change: Partial<KeyboardEvent> = {}) => ({
  key: 'Enter',
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  isComposing: false,
  ...change,
});

it('sends by Enter, and in other ways by Ctrl and Command while Claude works', () => {
  expect(modeOfKey(key(), true)).toBe('append');
  expect(modeOfKey(key({ ctrlKey: true }), true)).toBe('steer');
  expect(modeOfKey(key({ metaKey: true, shiftKey: true }), true)).toBe('now');
  expect(modeOfKey(key({ ctrlKey: true }), false)).toBe('append');
});

it('says of a done stage that a message reopens it, unless nothing was ever started', () => {
  expect(composerWords('ended', true)).toContain('a message reopens it');
  expect(composerWords('ended')).toContain('a message resumes it');
  expect(composerWords(null, true)).toBe('Nothing runs yet.');
});

it('leaves new lines, other keys and composed characters alone', () => {
  expect(modeOfKey(key({ shiftKey: true }), false)).toBeNull();
  expect(modeOfKey(key({ key: 'a' }), true)).toBeNull();
  expect(modeOfKey(key({ isComposing: true }), true)).toBeNull();
});
