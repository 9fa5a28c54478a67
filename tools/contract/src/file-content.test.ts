import { expect, it } from 'vitest';
import { type ContentType, contentProblem, contentType, isTaken, isWhole } from './changes.ts';

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Uint8Array.from(
    parts.flatMap((part) => (typeof part === 'string' ? [...part].map((sign) => sign.charCodeAt(0)) : part)),
  );
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const png = bytes(atob(PIXEL));
/** A preview with an end of its own, then the picture's data. */
const jpegStart = [
  [0xff, 0xd8, 0xff, 0xe1, 0, 6],
  [1, 2, 0xff, 0xd9],
  [0xff, 0xda, 0, 2, 5, 5, 5],
];
const heic = bytes([0, 0, 0, 24], 'ftypheic', [0, 0, 0, 0], 'mif1heic');

it.each<[ContentType | null, Uint8Array]>([
  ['image/png', png],
  ['image/jpeg', bytes(...jpegStart, [0xff, 0xd9])],
  ['image/gif', bytes('GIF89a', [1, 0x3b])],
  ['image/webp', bytes('RIFF', [4, 0, 0, 0], 'WEBP')],
  ['application/pdf', bytes('%PDF-1.4\n', [0, 200], '%%EOF\n')],
  ['image/heic', heic],
  ['image/avif', bytes([0, 0, 0, 24], 'ftypavif', [0, 0, 0, 0], 'mif1')],
  ['image/tiff', bytes('II*', [0, 8, 0, 0, 0])],
  [null, bytes([0, 0, 0, 24], 'ftypisom', [0, 0, 0, 0], 'mp41')],
  [null, bytes('BMW is a car')],
  [null, bytes('The text %PDF- begins a PDF document.')],
])('sees by the first bytes that a file is %s', (type, content) => {
  expect(contentType(content)).toBe(type);
  if (type !== null && isTaken(type)) {
    expect(isWhole(type, content)).toBe(true);
    expect(contentProblem('a', type, content)).toBeNull();
  }
});

it.each([
  [
    'a PDF document as .png',
    'image/png',
    bytes('%PDF-1.4 %%EOF'),
    'a.png is a PDF document, not one that Claude takes',
  ],
  ['a truncated PNG', 'image/png', png.subarray(0, png.length - 5), 'a.png is cut off: the end of a PNG image'],
  ['a truncated JPEG with a preview', 'image/jpeg', bytes(...jpegStart), 'is cut off'],
  ['a HEIC picture as .jpg', 'image/jpeg', heic, 'a.png is a HEIC picture, not one that Claude takes'],
  ['text as .png', 'image/png', bytes('hello'), 'a.png is not an image'],
  ['an image as .pdf', 'application/pdf', png, 'a.png is a PNG image, not a PDF document'],
])('names what is wrong with %s', (_, mediaType, content, problem) => {
  expect(contentProblem('a.png', mediaType, content)).toContain(problem);
});

it('takes an image of another type than it says, and text as it is', () => {
  expect(contentProblem('a.jpg', 'image/jpeg', png)).toBeNull();
  expect(contentProblem('a.txt', 'text/plain', bytes('%PDF- is a word'))).toBeNull();
});
