import { create } from 'zustand';
import type { ReadFile } from '../../../lib/read-file.ts';

interface Unsent {
  /** By stage: the text in the message box that the server does not have yet. */
  texts: Readonly<Record<string, string>>;
  /** By stage: the files pasted, dropped or chosen that the server does not have yet. */
  files: Readonly<Record<string, readonly ReadFile[]>>;
  setText(stageId: string, text: string): void;
  /** The server has this text. What was typed meanwhile stays. */
  textSaved(stageId: string, text: string): void;
  addFile(stageId: string, file: ReadFile): void;
  removeFile(stageId: string, fileId: string): void;
}

/** What was typed or attached in this tab and is not on the server yet. Everything else of a draft is. */
export const useUnsent = create<Unsent>((set) => ({
  texts: {},
  files: {},
  setText: (stageId, text) => set(({ texts }) => ({ texts: { ...texts, [stageId]: text } })),
  textSaved: (stageId, text) =>
    set(({ texts }) => {
      if (texts[stageId] !== text) return {};
      const { [stageId]: _, ...rest } = texts;
      return { texts: rest };
    }),
  addFile: (stageId, file) =>
    set(({ files }) => ({ files: { ...files, [stageId]: [...(files[stageId] ?? []), file] } })),
  removeFile: (stageId, fileId) =>
    set(({ files }) => ({
      files: { ...files, [stageId]: (files[stageId] ?? []).filter((file) => file.fileId !== fileId) },
    })),
}));
