import { MessageDraft, MessageId } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import type { ReadFile } from '../../../lib/read-file.ts';
import { unsentOnDevice } from '../../../lib/unsent-on-device.ts';

const UnsentText = MessageDraft.extend({
  /** What else it was sent with, in a message that may have arrived; null if it was not sent. */
  sentWith: z.string().nullable(),
});

/** A text in a message box, with the id that its message will have. */
export type UnsentText = z.infer<typeof UnsentText>;

interface Unsent {
  /** By stage: the text in the message box that the server does not have yet. */
  texts: Readonly<Record<string, UnsentText>>;
  /** The stages whose text an earlier page has left, until it was joined with what the server has. */
  restored: ReadonlySet<string>;
  /** By stage: the saves under way. */
  saving: Readonly<Record<string, Promise<void>>>;
  setSaving(stageId: string, saving: Promise<void>): void;
  /** By stage: the files pasted, dropped or chosen that the server does not have yet. */
  files: Readonly<Record<string, readonly ReadFile[]>>;
  setText(stageId: string, text: UnsentText): void;
  joined(stageId: string): void;
  /** The server has this text, or its message. What was typed meanwhile stays. */
  textSaved(stageId: string, text: UnsentText): void;
  addFile(stageId: string, file: ReadFile): void;
  removeFile(stageId: string, fileId: string): void;
}

const onDevice = unsentOnDevice('message', UnsentText);

export const newMessageId = (): MessageId => MessageId.parse(crypto.randomUUID());

/** What was typed or attached and is not on the server yet. The browser keeps the texts. */
export const useUnsent = create<Unsent>((set, get) => {
  const texts = onDevice.all();
  return {
    texts,
    restored: new Set(Object.keys(texts)),
    saving: {},
    setSaving: (stageId, next) => set(({ saving }) => ({ saving: { ...saving, [stageId]: next } })),
    files: {},
    setText(stageId, text) {
      onDevice.save(stageId, text);
      set((all) => ({ texts: { ...all.texts, [stageId]: text } }));
    },
    joined: (stageId) => set(({ restored }) => ({ restored: new Set([...restored].filter((one) => one !== stageId)) })),
    textSaved(stageId, text) {
      onDevice.forget(stageId, text);
      const { [stageId]: now, ...rest } = get().texts;
      if (now?.text !== text.text || now.messageId !== text.messageId) return;
      set({ texts: rest });
      get().joined(stageId);
    },
    addFile: (stageId, file) =>
      set(({ files }) => ({ files: { ...files, [stageId]: [...(files[stageId] ?? []), file] } })),
    removeFile: (stageId, fileId) =>
      set(({ files }) => ({
        files: { ...files, [stageId]: (files[stageId] ?? []).filter((file) => file.fileId !== fileId) },
      })),
  };
});
