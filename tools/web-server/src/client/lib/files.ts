import { Attachment, type ContentType, contentName, contentProblem, contentType, isTaken } from '@callboard/contract';

/** A file that was read, with the id by which the server knows it. */
export interface ReadFile {
  fileId: string;
  size: number;
  content: Attachment;
  /** What a person should know before it is sent: it is not what its name says, or was changed. */
  note?: string;
}

/** Claude Code makes larger images smaller anyway, to at most 2,000 pixels (2.1.330). */
const LARGE_BYTES = 4_000_000;

/**
 * Reads a file in the form the server expects. What its first bytes say counts, not its name; a picture that Claude does not take is
 * converted, and a large one made smaller, where the browser can.
 * @throws Error with a text for people if the file cannot be sent
 */
export async function readFile(file: File): Promise<ReadFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const name = file.name === '' ? 'pasted' : file.name.slice(-200);
  if (bytes.length === 0) throw new Error(`${name} is empty.`);
  const found = contentType(bytes);
  if (found !== null && !isTaken(found)) return converted(file, name, found);
  const said = mediaTypeOf(file.type, bytes);
  const mediaType = found ?? said;
  if (mediaType === null)
    throw new Error(`${name} cannot be sent: Claude takes images (PNG, JPEG, GIF, WebP), PDF documents and text.`);
  const problem = contentProblem(name, mediaType, bytes);
  if (problem !== null) throw new Error(problem);
  if (bytes.length > LARGE_BYTES && mediaType.startsWith('image/') && mediaType !== 'image/gif') {
    const smaller = await redrawn(file, 'image/jpeg');
    if (smaller !== null && smaller.length < bytes.length) {
      const read = readAs(withEnding(name, 'jpg'), 'image/jpeg', smaller);
      return { ...read, note: `${name} is large: a smaller JPEG image made of it is attached.` };
    }
  }
  const read = readAs(name, mediaType, bytes);
  const isOther = found !== null && said !== null && said.startsWith('image/') !== found.startsWith('image/');
  return isOther ? { ...read, note: `${name} is ${contentName(found)}, and is attached as one.` } : read;
}

/** The size that counts against the limit before a file is read: a large image may be made smaller. */
export const leastSize = ({ type, size }: File): { size: number } => ({
  size: type.startsWith('image/') ? Math.min(size, LARGE_BYTES) : size,
});

/** What to say about files that were read; null if there is nothing. */
export const notesOn = (files: readonly ReadFile[]): string | null =>
  files.flatMap(({ note }) => note ?? []).join(' ') || null;

async function converted(file: File, name: string, found: ContentType): Promise<ReadFile> {
  const mediaType = found === 'image/heic' ? 'image/jpeg' : 'image/png';
  const bytes = await redrawn(file, mediaType);
  if (bytes === null)
    throw new Error(
      `${name} is ${contentName(found)}, which Claude does not take and this browser cannot convert. Save it as PNG or JPEG and attach that.`,
    );
  const read = readAs(withEnding(name, mediaType === 'image/jpeg' ? 'jpg' : 'png'), mediaType, bytes);
  return { ...read, note: `${name} is ${contentName(found)}: ${contentName(mediaType)} made of it is attached.` };
}

const withEnding = (name: string, ending: string): string => `${name.replace(/\.[^.]*$/, '')}.${ending}`;

const readAs = (name: string, mediaType: string, bytes: Uint8Array): ReadFile => ({
  fileId: crypto.randomUUID(),
  size: bytes.length,
  content: { name, mediaType, dataBase64: base64(bytes) },
});

/** The browser's media type if it can be sent, `text/plain` if the content is text, else null. */
export function mediaTypeOf(said: string, bytes: Uint8Array): string | null {
  const named = said.split(';')[0]?.trim() ?? '';
  if (Attachment.shape.mediaType.safeParse(named).success) return named;
  if (named.startsWith('image/') && named !== 'image/svg+xml') return null;
  return isText(bytes) ? 'text/plain' : null;
}

function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function base64(bytes: Uint8Array): string {
  const CHUNK = 0x8000;
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(binary);
}

/** The longest side of an image that Claude Code passes on to the model (2.1.330). */
const MAX_SIDE_LENGTH = 2_000;

/** Draws a picture anew, no larger than Claude sees it. Returns null where the browser cannot read it. */
async function redrawn(file: Blob, mediaType: 'image/png' | 'image/jpeg'): Promise<Uint8Array | null> {
  const picture = await createImageBitmap(file).catch(() => null);
  if (picture === null) return null;
  const scale = Math.min(1, MAX_SIDE_LENGTH / Math.max(picture.width, picture.height));
  const canvas = new OffscreenCanvas(
    Math.max(1, Math.round(picture.width * scale)),
    Math.max(1, Math.round(picture.height * scale)),
  );
  const place = canvas.getContext('2d');
  if (place === null) return null;
  if (mediaType === 'image/jpeg') {
    place.fillStyle = 'white'; // a JPEG has no transparency; without it, that would be black
    place.fillRect(0, 0, canvas.width, canvas.height);
  }
  place.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  return new Uint8Array(await (await canvas.convertToBlob({ type: mediaType, quality: 0.9 })).arrayBuffer());
}

/** Lets the browser save a file under this name. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser must have started to read it first.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
