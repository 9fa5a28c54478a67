import { expect, it } from 'vitest';
import { modeOfKey } from './composer-words.ts';

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

it('leaves new lines, other keys and composed characters alone', () => {
  expect(modeOfKey(key({ shiftKey: true }), false)).toBeNull();
  expect(modeOfKey(key({ key: 'a' }), true)).toBeNull();
  expect(modeOfKey(key({ isComposing: true }), true)).toBeNull();
});
