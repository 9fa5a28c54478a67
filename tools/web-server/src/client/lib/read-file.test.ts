import { expect, it, onTestFinished, vi } from 'vitest';
import { mediaTypeOf, readFile } from './files.ts';

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

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const png = Buffer.from(PIXEL, 'base64');

it('says what a file is that is not what it is called, before it is sent', async () => {
  const pdf = await readFile(new File(['%PDF-1.4 %%EOF'], 'a.png', { type: 'image/png' }));
  expect(pdf).toMatchObject({
    content: { mediaType: 'application/pdf' },
    note: 'a.png is a PDF document, and is attached as one.',
  });
  const image = await readFile(new File([png], 'a.jpg', { type: 'image/jpeg' }));
  expect(image).toMatchObject({ content: { mediaType: 'image/png' } });
  expect(image.note).toBeUndefined();
  const cut = readFile(new File([png.subarray(0, 40)], 'a.png', { type: 'image/png' }));
  await expect(cut).rejects.toThrow('a.png is cut off');
  await expect(readFile(new File(['hello'], 'a.png', { type: 'image/png' }))).rejects.toThrow('is not an image');
});

it('converts a picture that Claude does not take where the browser can, and says so where it cannot', async () => {
  const heic = new File(['\0\0\0\x18ftypheic\0\0\0\0mif1heic'], 'a.jpg', { type: 'image/jpeg' });
  const drawing = { fillRect: () => undefined, drawImage: () => undefined };
  vi.stubGlobal('createImageBitmap', async () => Promise.reject(new Error('no decoder')));
  onTestFinished(() => void vi.unstubAllGlobals());
  await expect(readFile(heic)).rejects.toThrow(
    'a.jpg is a HEIC picture, which Claude does not take and this browser cannot convert',
  );
  vi.stubGlobal('createImageBitmap', async () => ({ width: 4_000, height: 3_000, close: () => undefined }));
  const sizes: number[][] = [];
  class Canvas {
    constructor(...size: number[]) {
      sizes.push(size);
    }
    getContext = () => drawing;
    convertToBlob = async ({ type }: { type: string }) => new Blob(['drawn'], { type });
  }
  vi.stubGlobal('OffscreenCanvas', Canvas);
  const read = await readFile(heic);
  expect(read).toMatchObject({
    content: { name: 'a.jpg', mediaType: 'image/jpeg' },
    note: expect.stringContaining('is a HEIC picture'),
  });
  expect(sizes).toEqual([[2_000, 1_500]]);
});
