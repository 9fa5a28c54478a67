import { Attachment } from '@callboard/contract';
import { create } from 'zustand';

/** A file that is to go with the next message. */
export interface HeldFile {
  id: string;
  size: number;
  content: Attachment;
}

interface HeldFiles {
  byStage: Readonly<Record<string, readonly HeldFile[]>>;
  add(stageId: string, files: readonly HeldFile[]): void;
  remove(stageId: string, ids: ReadonlySet<string>): void;
}

/** What was pasted, dropped or chosen and not sent. In this tab alone: files are too large for a draft. */
export const useHeldFiles = create<HeldFiles>((set) => ({
  byStage: {},
  add: (stageId, files) =>
    set(({ byStage }) => ({ byStage: { ...byStage, [stageId]: [...(byStage[stageId] ?? []), ...files] } })),
  remove: (stageId, ids) =>
    set(({ byStage }) => ({
      byStage: { ...byStage, [stageId]: (byStage[stageId] ?? []).filter((file) => !ids.has(file.id)) },
    })),
}));

const MOST_FILES = 20;
/** The server takes 25 MiB with each message, in which three bytes of a file take four. */
const MOST_BYTES = 18 * 1024 * 1024;

/** Why these files cannot go along with those that are held; null when they can. */
export function tooMuch(held: readonly { size: number }[], more: readonly { size: number }[]): string | null {
  const all = [...held, ...more];
  if (all.length > MOST_FILES) return `A message can take ${MOST_FILES} files at most; these would be ${all.length}.`;
  const bytes = all.reduce((sum, file) => sum + file.size, 0);
  if (bytes <= MOST_BYTES) return null;
  return `A message can take ${fileSize(MOST_BYTES)} of files at most; these would be ${fileSize(bytes)}.`;
}

/** Reads a file as the server wants it. @throws Error in words for a person, for one that cannot be sent */
export async function readFile(file: File): Promise<HeldFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes.length === 0) throw new Error(`${file.name} is empty.`);
  const mediaType = mediaTypeOf(file.type, bytes);
  if (mediaType === null)
    throw new Error(`${file.name} cannot be sent: Claude takes images (PNG, JPEG, GIF, WebP), PDF documents and text.`);
  const name = file.name === '' ? 'pasted' : file.name.slice(-200);
  return { id: crypto.randomUUID(), size: file.size, content: { name, mediaType, dataBase64: base64(bytes) } };
}

/** What the browser says it is, if that can be sent; else text, if it can be read as such. */
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

/** "312 B", "4.2 KiB", "18 MiB". */
export function fileSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [value, unit] = bytes < 1024 * 1024 ? [bytes / 1024, 'KiB'] : [bytes / 1024 / 1024, 'MiB'];
  return `${value < 10 && value % 1 >= 0.05 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}
