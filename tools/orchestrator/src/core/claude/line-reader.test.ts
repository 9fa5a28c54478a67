import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLineReader, type SpoolLine } from './frames.ts';

const read = (chunks: readonly Uint8Array[], start = 0): SpoolLine[] => {
  const reader = createLineReader(start);
  return chunks.flatMap((chunk) => reader.push(Buffer.from(chunk)));
};
const bytes = (text: string) => Buffer.from(text, 'utf8');

/** Cuts at these offsets, in any order. */
function split(data: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (data.length + 1)).sort((a, b) => a - b), data.length];
  return places.slice(1).map((place, index) => data.subarray(places[index], place));
}

const someText = fc
  .array(fc.constantFrom('a', '{"x":1}', 'ä', '汉', '🐙', '\u2028', '\n', '\r\n', ' ', '\t', '\0', '\ufeff'))
  .map((parts) => bytes(parts.join('')));

it('returns the same lines at the same offsets however the bytes are split', () => {
  const data = fc.oneof(someText, fc.uint8Array({ maxLength: 200 }));
  fc.assert(
    fc.property(data, fc.array(fc.nat(), { maxLength: 30 }), fc.nat(1_000_000), (all, cuts, start) => {
      expect(read(split(all, cuts), start)).toEqual(read([all], start));
    }),
  );
});

it('returns every non-blank line, whole, with the offset behind its newline', () => {
  fc.assert(
    fc.property(someText, fc.nat(1_000_000), (all, start) => {
      const lines = read([all], start);
      const expected = all.toString('utf8').split('\n').slice(0, -1);
      expect(lines.map((line) => line.text)).toEqual(expected.filter((text) => text.trim() !== ''));
      for (const { text, end } of lines) {
        const behind = end - start;
        expect(all[behind - 1]).toBe(0x0a);
        expect(all.subarray(behind - 1 - Buffer.byteLength(text), behind - 1).toString('utf8')).toBe(text);
      }
    }),
  );
});

it('continues from any returned offset as if it had not been interrupted', () => {
  fc.assert(
    fc.property(someText, (all) => {
      const lines = read([all]);
      for (const [index, { end }] of lines.entries()) {
        expect(read([all.subarray(end)], end)).toEqual(lines.slice(index + 1));
      }
    }),
  );
});

it('does not split a character whose bytes arrive one by one', () => {
  const text = 'ä 汉 🐙 \u2028';
  const single = [...bytes(`${text}\n`)].map((byte) => Uint8Array.of(byte));
  expect(read(single)).toEqual([{ text, end: single.length }]);
});

it('skips blank lines, but counts their bytes', () => {
  expect(read([bytes('\n\n  \n\t\r\n{}\n\n')])).toEqual([{ text: '{}', end: 11 }]);
});

it('leaves carriage returns to JSON, which ignores them', () => {
  const [line] = read([bytes('{"a":1}\r\n')]);
  expect(JSON.parse(line?.text ?? '')).toEqual({ a: 1 });
  expect(line?.end).toBe(9);
});

it('keeps an incomplete line, and knows its position', () => {
  const reader = createLineReader(100);
  expect(reader.push(bytes('{"a":'))).toEqual([]);
  expect(reader.rest()).toBe('{"a":');
  expect(reader.position()).toBe(105);
  expect(reader.push(bytes('1}\n{'))).toEqual([{ text: '{"a":1}', end: 108 }]);
  expect(reader.rest()).toBe('{');
  expect(reader.position()).toBe(109);
});

it('allows the caller to reuse the buffer', () => {
  const reader = createLineReader(0);
  const buffer = bytes('abc');
  reader.push(buffer);
  buffer.fill('x');
  expect(reader.push(bytes('\n'))).toEqual([{ text: 'abc', end: 4 }]);
});

it('reads a 50 MB line that arrives in chunks', () => {
  const chunk = Buffer.alloc(256 * 1024, 'x');
  const chunks = 200;
  const reader = createLineReader(0);
  for (let n = 0; n < chunks; n++) expect(reader.push(chunk)).toEqual([]);
  const [line] = reader.push(bytes('\n'));
  expect(line?.text.length).toBe(chunk.length * chunks);
  expect(line?.end).toBe(chunk.length * chunks + 1);
});

it('reports only the length of a line that is too long, and continues behind it', () => {
  const reader = createLineReader(0, 10);
  expect(reader.push(bytes('{"a":1}\n01234'))).toEqual([{ text: '{"a":1}', end: 8 }]);
  expect(reader.push(bytes('56789ab'))).toEqual([]);
  expect(reader.rest()).toBe('A line of 12 bytes was too long and was discarded.');
  expect(reader.push(bytes('cd\n{"b":2}\n'))).toEqual([
    { text: 'A line of 14 bytes was too long and was discarded.', end: 23 },
    { text: '{"b":2}', end: 31 },
  ]);
});
