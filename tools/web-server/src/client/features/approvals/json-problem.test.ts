import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonProblem } from './edited-input.ts';

it('accepts every JSON object', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      expect(jsonProblem(JSON.stringify(value, null, 2))).toBeNull();
    }),
  );
});

it.each([
  ['{\n  "a": oops\n}', 2, 'Line 2: this is not readable: oops'],
  ['{\n  "a": 1\n  "b": 2\n}', 3, 'Line 3: this is not readable: "b": 2'],
  ['{\n  "a": [1, 2', 2, 'Line 2: the text ends too early'],
  ['', 1, 'Line 1: the text ends too early'],
  ['{} x', 1, 'Line 1: this is not readable: x'],
  ['{\n"a": "b\n}', 2, 'Line 2: this is not readable: "b'],
  ['[1]', 1, 'The input has to be an object in braces.'],
])('names the line in %j', (text, line, message) => {
  expect(jsonProblem(text)).toEqual({ line, message });
});
