import { expect, it } from 'vitest';
import { createBell } from './bell.ts';

it('rings for everyone who listens to that key, and for nobody else', () => {
  const bell = createBell<string>();
  const heard: string[] = [];
  bell.listen('a', () => heard.push('a1'));
  bell.listen('a', () => heard.push('a2'));
  bell.listen('b', () => heard.push('b'));
  bell.ring('a');
  expect(heard).toEqual(['a1', 'a2']);
});

it('is heard by nobody before somebody listens, which is no harm', () => {
  const bell = createBell<string>();
  expect(() => bell.ring('a')).not.toThrow();
});

it('is no longer heard by one who has stopped to listen, and still by the others', () => {
  const bell = createBell<string>();
  const heard: string[] = [];
  const stop = bell.listen('a', () => heard.push('gone'));
  bell.listen('a', () => heard.push('here'));
  stop();
  bell.ring('a');
  expect(heard).toEqual(['here']);
});

it('lets a listener stop while it rings', () => {
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

it('does not deafen a later listener when an earlier one stops twice', () => {
  const bell = createBell<string>();
  const stop = bell.listen('a', () => undefined);
  stop();
  let rung = 0;
  bell.listen('a', () => rung++);
  stop();
  bell.ring('a');
  expect(rung).toBe(1);
});
