import { Attachment } from '@callboard/contract';

/** A file that was read, with the id by which the server knows it. */
export interface ReadFile {
  fileId: string;
  size: number;
  content: Attachment;
}

/** Reads a file in the form the server expects. @throws Error with a text for people if the file cannot be sent */
export async function readFile(file: File): Promise<ReadFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes.length === 0) throw new Error(`${file.name} is empty.`);
  const mediaType = mediaTypeOf(file.type, bytes);
  if (mediaType === null)
    throw new Error(`${file.name} cannot be sent: Claude takes images (PNG, JPEG, GIF, WebP), PDF documents and text.`);
  const name = file.name === '' ? 'pasted' : file.name.slice(-200);
  return { fileId: crypto.randomUUID(), size: file.size, content: { name, mediaType, dataBase64: base64(bytes) } };
}

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
