/** What the first bytes of a file say that it is, and whether its end is there. The name and the browser's media type are only claims. */

const ASCII = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, Math.min(to, bytes.length)));

/** Types that Claude takes, by their first bytes. */
const TAKEN = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf'] as const;
/** Other pictures. */
const OTHERS = ['image/heic', 'image/avif', 'image/bmp', 'image/tiff', 'image/x-icon'] as const;
export type ContentType = (typeof TAKEN)[number] | (typeof OTHERS)[number];

const NAMES: Readonly<Record<ContentType, string>> = {
  'image/png': 'a PNG image',
  'image/jpeg': 'a JPEG image',
  'image/gif': 'a GIF image',
  'image/webp': 'a WebP image',
  'application/pdf': 'a PDF document',
  'image/heic': 'a HEIC picture',
  'image/avif': 'an AVIF picture',
  'image/bmp': 'a BMP picture',
  'image/tiff': 'a TIFF picture',
  'image/x-icon': 'an icon',
};

/** "a PDF document" */
export const contentName = (type: ContentType): string => NAMES[type];

/** Whether Claude takes this type of picture or document. */
export const isTaken = (type: ContentType): type is (typeof TAKEN)[number] => TAKEN.some((one) => one === type);

/** Returns the type that the first bytes show; null for anything but a picture or a PDF document. */
export function contentType(bytes: Uint8Array): ContentType | null {
  const start = ASCII(bytes, 0, 12);
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(start)) return 'image/gif';
  if (start.startsWith('RIFF') && start.slice(8) === 'WEBP') return 'image/webp';
  if (/^(?:\xef\xbb\xbf)?\s*%PDF-/.test(ASCII(bytes, 0, 64))) return 'application/pdf';
  if (start.slice(4, 8) === 'ftyp') return brandType(ASCII(bytes, 8, 64));
  if (start.startsWith('BM') && bytes.length > 26) return 'image/bmp';
  if (start.startsWith('II*\0') || start.startsWith('MM\0*')) return 'image/tiff';
  return start.startsWith('\0\0\x01\0') ? 'image/x-icon' : null;
}

/** HEIC and AVIF are kinds of one container, which also has films. */
function brandType(brands: string): ContentType | null {
  if (/avi[fs]/.test(brands)) return 'image/avif';
  return /hei[cxmsf]|hev[cmx]|mif1|msf1/.test(brands) ? 'image/heic' : null;
}

/** Whether the end of a picture or a document is there; false for one that was cut off. */
export function isWhole(type: (typeof TAKEN)[number], bytes: Uint8Array): boolean {
  switch (type) {
    case 'image/png':
      return hasEndOfPng(bytes);
    case 'image/jpeg':
      return hasEndOfJpeg(bytes);
    case 'image/gif':
      return bytes[bytes.findLastIndex((byte) => byte !== 0)] === 0x3b;
    case 'image/webp':
      return bytes.length >= 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
    case 'application/pdf':
      return indexOf(bytes, '%%EOF', 0) !== -1;
    default:
      return type satisfies never;
  }
}

/** Goes from chunk to chunk: others may follow the last one. */
function hasEndOfPng(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 8;
  while (at + 12 <= bytes.length) {
    const end = at + 12 + view.getUint32(at);
    if (ASCII(bytes, at + 4, at + 8) === 'IEND') return end <= bytes.length;
    at = end;
  }
  return false;
}

/** Goes from segment to segment up to the picture's own data: a preview in a segment has an end of its own. */
function hasEndOfJpeg(bytes: Uint8Array): boolean {
  let at = 2;
  while (at + 4 <= bytes.length && bytes[at] === 0xff && bytes[at + 1] !== 0xda)
    at += bytes[at + 1] === 0xff ? 1 : 2 + (bytes[at + 2] ?? 0) * 256 + (bytes[at + 3] ?? 0);
  return at + 4 <= bytes.length && indexOf(bytes, '\xff\xd9', at) !== -1;
}

function indexOf(bytes: Uint8Array, text: string, from: number): number {
  const first = text.charCodeAt(0);
  for (let at = bytes.indexOf(first, from); at !== -1; at = bytes.indexOf(first, at + 1))
    if (ASCII(bytes, at, at + text.length) === text) return at;
  return -1;
}

/**
 * Returns why Claude could not read a file of this media type, in words for a person; null if nothing is known against it. An
 * image may be of another type than it says: Claude Code looks for itself (2.1.330).
 */
export function contentProblem(name: string, mediaType: string, bytes: Uint8Array): string | null {
  const isImage = mediaType.startsWith('image/');
  if (!isImage && mediaType !== 'application/pdf') return null;
  const what = isImage ? 'an image' : 'a PDF document';
  const found = contentType(bytes);
  if (found === null) return `${name} is not ${what}: its content is something else.`;
  if (!isTaken(found) || (found === 'application/pdf') === isImage)
    return `${name} is ${contentName(found)}, not ${isImage ? 'one that Claude takes (PNG, JPEG, GIF or WebP)' : what}.`;
  return isWhole(found, bytes)
    ? null
    : `${name} is cut off: the end of ${contentName(found)} is missing. Save or download it again.`;
}
