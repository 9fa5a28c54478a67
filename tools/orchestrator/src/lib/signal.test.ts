import { expect, it } from 'vitest';
import { createSignal } from './async.ts';

it('wakes every listener of a key, and no other', () => {
  const signal = createSignal<string>();
  const heard: string[] = [];
  signal.listen('a', () => heard.push('a1'));
  signal.listen('a', () => heard.push('a2'));
  signal.listen('b', () => heard.push('b'));
  signal.ring('a');
  expect(heard).toEqual(['a1', 'a2']);
});

it('may be rung without a listener', () => {
  const signal = createSignal<string>();
  expect(() => signal.ring('a')).not.toThrow();
});

it('wakes the other listeners after one was removed', () => {
  const signal = createSignal<string>();
  const heard: string[] = [];
  const stop = signal.listen('a', () => heard.push('gone'));
  signal.listen('a', () => heard.push('here'));
  stop();
  signal.ring('a');
  expect(heard).toEqual(['here']);
});

it('lets a listener remove itself while it is signalled', () => {
  const signal = createSignal<string>();
  const heard: string[] = [];
  const stop = signal.listen('a', () => {
    heard.push('once');
    stop();
  });
  signal.listen('a', () => heard.push('always'));
  signal.ring('a');
  signal.ring('a');
  expect(heard).toEqual(['once', 'always', 'always']);
});

it('keeps a later listener when an earlier one is removed twice', () => {
  const signal = createSignal<string>();
  const stop = signal.listen('a', () => undefined);
  stop();
  let rung = 0;
  signal.listen('a', () => rung++);
  stop();
  signal.ring('a');
  expect(rung).toBe(1);
});
