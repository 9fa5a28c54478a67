import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLineReader, type SpoolLine } from './line-reader.ts';

const read = (chunks: readonly Uint8Array[], start = 0): SpoolLine[] => {
  const reader = createLineReader(start);
  return chunks.flatMap((chunk) => reader.push(Buffer.from(chunk)));
};
const bytes = (text: string) => Buffer.from(text, 'utf8');

/** Cuts at these places, which need not be in order. */
function split(data: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (data.length + 1)).sort((a, b) => a - b), data.length];
  return places.slice(1).map((place, index) => data.subarray(places[index], place));
}

const someText = fc
  .array(fc.constantFrom('a', '{"x":1}', 'ä', '汉', '🐙', '\u2028', '\n', '\r\n', ' ', '\t', '\0', '\ufeff'))
  .map((parts) => bytes(parts.join('')));

it('gives the same lines at the same offsets however the bytes are cut', () => {
  const data = fc.oneof(someText, fc.uint8Array({ maxLength: 200 }));
  fc.assert(
    fc.property(data, fc.array(fc.nat(), { maxLength: 30 }), fc.nat(1_000_000), (all, cuts, start) => {
      expect(read(split(all, cuts), start)).toEqual(read([all], start));
    }),
  );
});

it('hands out every line that is not blank, whole, with the offset behind its newline', () => {
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

it('goes on from every offset that it gave out as if it had not been interrupted', () => {
  fc.assert(
    fc.property(someText, (all) => {
      const lines = read([all]);
      for (const [index, { end }] of lines.entries()) {
        expect(read([all.subarray(end)], end)).toEqual(lines.slice(index + 1));
      }
    }),
  );
});

it('does not tear a character whose bytes come one by one', () => {
  const text = 'ä 汉 🐙 \u2028';
  const single = [...bytes(`${text}\n`)].map((byte) => Uint8Array.of(byte));
  expect(read(single)).toEqual([{ text, end: single.length }]);
});

it('passes over blank lines, and counts them', () => {
  expect(read([bytes('\n\n  \n\t\r\n{}\n\n')])).toEqual([{ text: '{}', end: 11 }]);
});

it('leaves a carriage return to JSON, for which it is a blank', () => {
  const [line] = read([bytes('{"a":1}\r\n')]);
  expect(JSON.parse(line?.text ?? '')).toEqual({ a: 1 });
  expect(line?.end).toBe(9);
});

it('keeps what has no newline yet, and knows how far it has read', () => {
  const reader = createLineReader(100);
  expect(reader.push(bytes('{"a":'))).toEqual([]);
  expect(reader.rest()).toBe('{"a":');
  expect(reader.position()).toBe(105);
  expect(reader.push(bytes('1}\n{'))).toEqual([{ text: '{"a":1}', end: 108 }]);
  expect(reader.rest()).toBe('{');
  expect(reader.position()).toBe(109);
});

it('lets its caller use the buffer again', () => {
  const reader = createLineReader(0);
  const buffer = bytes('abc');
  reader.push(buffer);
  buffer.fill('x');
  expect(reader.push(bytes('\n'))).toEqual([{ text: 'abc', end: 4 }]);
});

it('reads a line of 50 MB that comes in chunks', () => {
  const chunk = Buffer.alloc(256 * 1024, 'x');
  const chunks = 200;
  const reader = createLineReader(0);
  for (let n = 0; n < chunks; n++) expect(reader.push(chunk)).toEqual([]);
  const [line] = reader.push(bytes('\n'));
  expect(line?.text.length).toBe(chunk.length * chunks);
  expect(line?.end).toBe(chunk.length * chunks + 1);
});

it('tells only the length of a line that is too long, and goes on behind it', () => {
  const reader = createLineReader(0, 10);
  expect(reader.push(bytes('{"a":1}\n01234'))).toEqual([{ text: '{"a":1}', end: 8 }]);
  expect(reader.push(bytes('56789ab'))).toEqual([]);
  expect(reader.rest()).toBe('A line of 12 bytes is too long and was not kept.');
  expect(reader.push(bytes('cd\n{"b":2}\n'))).toEqual([
    { text: 'A line of 14 bytes is too long and was not kept.', end: 23 },
    { text: '{"b":2}', end: 31 },
  ]);
});
