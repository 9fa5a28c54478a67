import { expect, it } from 'vitest';
import { retainRecent } from './node-sqlite.ts';

it('keeps what was asked for last, however much was asked for before', () => {
  const made: string[] = [];
  const { get } = retainRecent(3, (key) => {
    made.push(key);
    return `value of ${key}`;
  });
  for (const key of ['start 1', 'start 2', 'start 3', 'start 4']) get(key);
  made.length = 0;
  for (let nth = 1; nth <= 3; nth += 1) {
    expect(get('often')).toBe('value of often');
    get(`once ${nth}`);
  }
  expect(made).toEqual(['often', 'once 1', 'once 2', 'once 3']);
});
