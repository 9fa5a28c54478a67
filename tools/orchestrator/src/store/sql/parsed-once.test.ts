import { expect, it, onTestFinished, vi } from 'vitest';
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

it('keeps a bounded number of documents, and more for a few seconds, in which a start reads them all again and again', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { parsed, read } = setUp();
  const readAll = () => {
    for (let n = 0; n < 1_500; n++) read(`${n}`, '{}');
  };
  readAll();
  readAll();
  expect(parsed).toHaveLength(1_500);
  vi.advanceTimersByTime(5_000);
  read('1499', '{}');
  read('500', '{}');
  expect(parsed).toHaveLength(1_500);
  read('499', '{}');
  expect(parsed).toHaveLength(1_501);
  vi.advanceTimersByTime(5_000);
  read('500', '{}'); // the oldest of those that were kept
  expect(parsed).toHaveLength(1_502);
});

it('freezes the shared value', () => {
  const { read } = setUp();
  expect(() => Object.assign(read('a', '{"n":1}'), { n: 2 })).toThrow(TypeError);
});
