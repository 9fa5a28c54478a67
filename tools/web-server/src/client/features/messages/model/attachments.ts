import { Attachment } from '@callboard/contract';
import { create } from 'zustand';

/** A file as it was read, with an id of its own by which the server knows it. */
export interface ReadFile {
  fileId: string;
  size: number;
  content: Attachment;
}

interface FilesOnTheirWay {
  /** By stage: what was pasted, dropped or chosen, and the server does not have yet. */
  byStage: Readonly<Record<string, readonly ReadFile[]>>;
  add(stageId: string, file: ReadFile): void;
  remove(stageId: string, fileId: string): void;
}

/** All else of a message's files lies with the server, beside the draft. */
export const useFilesOnTheirWay = create<FilesOnTheirWay>((set) => ({
  byStage: {},
  add: (stageId, file) =>
    set(({ byStage }) => ({ byStage: { ...byStage, [stageId]: [...(byStage[stageId] ?? []), file] } })),
  remove: (stageId, fileId) =>
    set(({ byStage }) => ({
      byStage: { ...byStage, [stageId]: (byStage[stageId] ?? []).filter((file) => file.fileId !== fileId) },
    })),
}));

/** Reads a file as the server wants it. @throws Error in words for a person, for one that cannot be sent */
export async function readFile(file: File): Promise<ReadFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes.length === 0) throw new Error(`${file.name} is empty.`);
  const mediaType = mediaTypeOf(file.type, bytes);
  if (mediaType === null)
    throw new Error(`${file.name} cannot be sent: Claude takes images (PNG, JPEG, GIF, WebP), PDF documents and text.`);
  const name = file.name === '' ? 'pasted' : file.name.slice(-200);
  return { fileId: crypto.randomUUID(), size: file.size, content: { name, mediaType, dataBase64: base64(bytes) } };
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
