import { expect, it } from 'vitest';
import { parsedOnce } from './rows.ts';

function setUp() {
  const parsed: string[] = [];
  const read = parsedOnce((text): object => {
    parsed.push(text);
    return JSON.parse(text);
  });
  return { parsed, read };
}

it('checks a text once, and a new text of the same id again', () => {
  const { parsed, read } = setUp();
  const first = read('a', '{"n":1}');
  expect(read('a', '{"n":1}')).toBe(first);
  expect(read('a', '{"n":2}')).toEqual({ n: 2 });
  expect(read('a', '{"n":1}')).toEqual({ n: 1 });
  expect(parsed).toEqual(['{"n":1}', '{"n":2}', '{"n":1}']);
});

it('keeps a bounded number of documents', () => {
  const { parsed, read } = setUp();
  for (let n = 0; n <= 1_000; n++) read(`${n}`, '{}');
  read('1000', '{}');
  expect(parsed).toHaveLength(1_001);
  read('0', '{}');
  expect(parsed).toHaveLength(1_002);
});

it('freezes the shared value', () => {
  const { read } = setUp();
  expect(() => Object.assign(read('a', '{"n":1}'), { n: 2 })).toThrow(TypeError);
});
