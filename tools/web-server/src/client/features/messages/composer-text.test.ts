import { expect, it } from 'vitest';
import { composerText, delayedText, modeOfKey, nextGoes, sendModes } from './composer-text.ts';

const key = (change: Partial<KeyboardEvent> = {}) => ({
  key: 'Enter',
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  isComposing: false,
  keyCode: 13,
  ...change,
});

it('sends on Enter, and in other ways with Ctrl or Command while Claude works', () => {
  expect(modeOfKey(key(), true)).toBe('append');
  expect(modeOfKey(key({ ctrlKey: true }), true)).toBe('steer');
  expect(modeOfKey(key({ metaKey: true, shiftKey: true }), true)).toBe('now');
  expect(modeOfKey(key({ ctrlKey: true }), false)).toBe('append');
});

it('says that a message reopens a done stage, unless it was never started', () => {
  expect(composerText('ended', { isDone: true })).toContain('to reopen it');
  expect(composerText('ended')).toContain('to resume');
  expect(composerText(null, { isDone: true })).toBe('Start the stage to write to Claude.');
});

it('says nothing where a message is sent as usual', () => {
  expect((['idle', 'busy', 'waiting'] as const).map((state) => composerText(state))).toEqual(['', '', '']);
});

it('says that a message waits under alarm, and promises no resume', () => {
  const text = composerText('ended', { isAlarmed: true });
  expect(text).toContain('queued until you acknowledge');
  expect(text).not.toContain('resume');
  expect(composerText('ended', { isDone: true, isAlarmed: true })).not.toContain('reopen');
});

it('says why messages are held: the alarm, a past alarm, or the end of the last turn', () => {
  expect(delayedText({ isAlarmed: true, sinceAlarm: false })).toMatchObject({ action: null });
  const since = delayedText({ isAlarmed: false, sinceAlarm: true });
  expect(since).toMatchObject({ why: expect.stringContaining('Paused since the alarm'), action: 'Send queued' });
  expect(delayedText({ isAlarmed: false, sinceAlarm: false }).why).toContain('the last turn');
  expect(delayedText({ isAlarmed: false, sinceAlarm: false, resumes: true }).why).toContain('the usage limit');
});

it('ignores new lines, other keys and composed characters', () => {
  expect(modeOfKey(key({ shiftKey: true }), false)).toBeNull();
  expect(modeOfKey(key({ key: 'a' }), true)).toBeNull();
  expect(modeOfKey(key({ isComposing: true }), true)).toBeNull();
  expect(modeOfKey(key({ keyCode: 229 }), true)).toBeNull(); // Safari: the composition has ended before this Enter
});

it('says that a check runs, what waits for it and what stops it', () => {
  expect(composerText('busy', { isChecking: true })).toContain('A check is running');
  expect(composerText('busy', { isChecking: true, isAlarmed: true })).not.toContain('A check is running');
  expect(nextGoes(true)).toContain('check');
  expect(sendModes(false).map(({ mode }) => mode)).toEqual(['append', 'steer', 'now', 'replace']);
  expect(sendModes(true).map(({ mode, keys }) => [mode, keys])).toEqual([
    ['append', 'Enter'],
    ['now', 'Ctrl Enter'],
    ['replace', ''],
  ]);
});
