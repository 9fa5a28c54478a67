import { expect, it } from 'vitest';
import { createBell } from './bell.ts';

it('wakes every listener of a key, and no other', () => {
  const bell = createBell<string>();
  const heard: string[] = [];
  bell.listen('a', () => heard.push('a1'));
  bell.listen('a', () => heard.push('a2'));
  bell.listen('b', () => heard.push('b'));
  bell.ring('a');
  expect(heard).toEqual(['a1', 'a2']);
});

it('may be rung without a listener', () => {
  const bell = createBell<string>();
  expect(() => bell.ring('a')).not.toThrow();
});

it('wakes the other listeners after one was removed', () => {
  const bell = createBell<string>();
  const heard: string[] = [];
  const stop = bell.listen('a', () => heard.push('gone'));
  bell.listen('a', () => heard.push('here'));
  stop();
  bell.ring('a');
  expect(heard).toEqual(['here']);
});

it('lets a listener remove itself while the bell rings', () => {
  const bell = createBell<string>();
  const heard: string[] = [];
  const stop = bell.listen('a', () => {
    heard.push('once');
    stop();
  });
  bell.listen('a', () => heard.push('always'));
  bell.ring('a');
  bell.ring('a');
  expect(heard).toEqual(['once', 'always', 'always']);
});

it('keeps a later listener when an earlier one is removed twice', () => {
  const bell = createBell<string>();
  const stop = bell.listen('a', () => undefined);
  stop();
  let rung = 0;
  bell.listen('a', () => rung++);
  stop();
  bell.ring('a');
  expect(rung).toBe(1);
});
