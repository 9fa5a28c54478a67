import { expect, it } from 'vitest';
import { mediaTypeOf, readFile } from './read-file.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

it('accepts what the server accepts, and text of any media type', () => {
  expect(mediaTypeOf('image/png', bytes('x'))).toBe('image/png');
  expect(mediaTypeOf('text/plain;charset=utf-8', bytes('x'))).toBe('text/plain');
  expect(mediaTypeOf('video/mp2t', bytes('const a = 1;'))).toBe('text/plain');
  expect(mediaTypeOf('', bytes('a: 1'))).toBe('text/plain');
  expect(mediaTypeOf('image/svg+xml', bytes('<svg/>'))).toBe('text/plain');
});

it('refuses what is neither a supported image nor text', async () => {
  expect(mediaTypeOf('image/tiff', bytes('x'))).toBeNull();
  expect(mediaTypeOf('', new Uint8Array([0, 1, 2]))).toBeNull();
  expect(mediaTypeOf('application/zip', new Uint8Array([0xff, 0xfe]))).toBeNull();
  await expect(readFile(new File([new Uint8Array([0, 1])], 'a.zip'))).rejects.toThrow('a.zip cannot be sent');
  await expect(readFile(new File([], 'none.txt'))).rejects.toThrow('none.txt is empty');
});

it('passes the bytes on unchanged', async () => {
  const held = await readFile(new File(['grüße'], 'a.ts', { type: 'video/mp2t' }));
  expect(held).toMatchObject({ size: 7, content: { name: 'a.ts', mediaType: 'text/plain' } });
  expect(Buffer.from(held.content.dataBase64, 'base64').toString()).toBe('grüße');
});
