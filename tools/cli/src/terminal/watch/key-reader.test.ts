import { expect, it } from 'vitest';
import { createKeyReader } from './watch.ts';

function read(...chunks: string[]) {
  const seen: string[] = [];
  const take = createKeyReader({
    key: (key, isAlone) => void seen.push(isAlone ? key : `(${key})`),
    paste: (text) => void seen.push(`pasted ${JSON.stringify(text)}`),
  });
  for (const chunk of chunks) for (const key of [...chunk]) take(key, [...chunk].length === 1);
  return seen;
}

it('tells keys that came alone from those that came with others', () => {
  expect(read('a', 'bc')).toEqual(['a', '(b)', '(c)']);
});

it('leaves out arrows and function keys, and keeps Escape', () => {
  expect(read('\x1b[A', '\x1b[1;5C', '\x1bOP', '\x1b', 'a')).toEqual(['\x1b', 'a']);
});

it('takes what is pasted as one text, in which nothing is a key', () => {
  expect(read('\x1b[200~a\r\x1b[Ad\x1b[201~', 'a')).toEqual(['pasted "a\\r\\u001b[Ad"', 'a']);
  expect(read('\x1b[200~a', 'd', 'a\x1b[201~')).toEqual(['pasted "ada"']);
});
