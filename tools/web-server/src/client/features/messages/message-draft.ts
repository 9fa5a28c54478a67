import { MESSAGE_KEY, MessageDraft, MessageId, type StageId } from '@callboard/contract';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { z } from 'zod';
import { create } from 'zustand';
import { draftOf, draftsQuery, putDraft } from '../../data/server-drafts.ts';
import { unsentOnDevice } from '../../lib/browser-storage.ts';
import type { ReadFile } from '../../lib/files.ts';
import { untilDelivered } from '../../lib/until-delivered.ts';

/** Puts a text into a stage's message box, unless something is in it. */
export function useOfferText(): (stageId: StageId, text: string) => void {
  const cache = useQueryClient();
  return (stageId, text) => {
    if ((currentDraft(cache, stageId)?.text ?? '').trim() === '') changeText(cache, stageId, text);
  };
}

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

const PAUSE_MS = 400;

/** An older page stored the text alone. */
const Stored = z
  .union([MessageDraft, z.string().transform((text) => ({ text, messageId: newMessageId() }))])
  .nullable()
  .catch(null);

/** Returns the text of a stage's message box: what was typed here, or what the server has; null if that is nothing or not loaded. */
function currentDraft(cache: QueryClient, stageId: StageId): MessageDraft | null {
  const stored = draftOf(MESSAGE_KEY)(cache.getQueryData(draftsQuery(stageId).queryKey) ?? []);
  return useUnsent.getState().texts[stageId] ?? Stored.parse(stored?.value ?? null);
}

/** The text of a stage's message box. The browser keeps it at each key; the server stores it a moment later. */
export function useMessageDraft(stageId: StageId) {
  const cache = useQueryClient();
  const { data: drafts } = useQuery(draftsQuery(stageId));
  const unsaved = useUnsent(({ texts }) => texts[stageId]);
  const isRestored = useUnsent(({ restored }) => restored.has(stageId));
  const stored = Stored.parse(draftOf(MESSAGE_KEY)(drafts ?? [])?.value ?? null);
  const isLoaded = drafts !== undefined;

  // biome-ignore lint/correctness/useExhaustiveDependencies: joined once, with what the server has when it is first known
  useEffect(() => {
    if (isRestored && isLoaded && unsaved !== undefined) joinWith(stageId, stored, unsaved);
  }, [stageId, isRestored, isLoaded]);

  useEffect(() => {
    if (unsaved === undefined || isRestored) return;
    const timer = setTimeout(() => void save(cache, stageId), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [cache, stageId, unsaved, isRestored]);

  useEffect(() => {
    const saveNow = () => saveBeforeLeaving(cache, stageId);
    window.addEventListener('pagehide', saveNow);
    return () => {
      window.removeEventListener('pagehide', saveNow);
      saveNow();
    };
  }, [cache, stageId]);

  return {
    text: unsaved?.text ?? stored?.text ?? '',
    setText: (text: string) => changeText(cache, stageId, text),
    /**
     * Call it in the event that sends the text, with what it is sent with. Returns the id of its message: that of an earlier try, also
     * of one before the page was left, if that sent the same.
     */
    begin(text: string, sentWith: string): MessageId {
      const now = useUnsent.getState().texts[stageId] ?? currentDraft(cache, stageId);
      const earlier = now !== null && 'sentWith' in now ? now.sentWith : null;
      const isSame = now?.text === text && (earlier === null || earlier === sentWith);
      const messageId = isSame ? now.messageId : newMessageId();
      useUnsent.getState().setText(stageId, { text, messageId, sentWith });
      return messageId;
    },
    /** The server has the message: its draft is gone there too. What was typed meanwhile stays. */
    forget(messageId: MessageId) {
      const unsent = useUnsent.getState().texts[stageId];
      if (unsent?.messageId === messageId) useUnsent.getState().textSaved(stageId, unsent);
      cache.setQueryData(draftsQuery(stageId).queryKey, (all) =>
        all?.filter(({ key, value }) => key !== MESSAGE_KEY || Stored.parse(value)?.messageId !== messageId),
      );
    },
  };
}

/** Puts a text into the message box. One that may have been sent is another message from now on. */
function changeText(cache: QueryClient, stageId: StageId, text: string): void {
  const now = currentDraft(cache, stageId);
  const wasSent = now !== null && 'sentWith' in now && now.sentWith !== null;
  const messageId = now === null || wasSent ? newMessageId() : now.messageId;
  useUnsent.getState().setText(stageId, { text, messageId, sentWith: null });
}

/** The text that an earlier page left, and perhaps another one that was written on another device since: the box has both. */
function joinWith(stageId: StageId, stored: MessageDraft | null, left: UnsentText): void {
  const { setText, textSaved, joined } = useUnsent.getState();
  const isOther = stored !== null && stored.messageId !== left.messageId && !left.text.includes(stored.text.trim());
  if (isOther && stored.text.includes(left.text)) textSaved(stageId, left);
  else if (isOther) setText(stageId, { ...left, text: stored.text + BETWEEN + left.text });
  joined(stageId);
}

const BETWEEN = '\n\n';

const draft = (stageId: StageId, { text, messageId }: UnsentText) => ({
  stageId,
  key: MESSAGE_KEY,
  value: text === '' ? null : { text, messageId },
});

/** Saves one text after the other, so that an older one does not replace a newer one. */
function save(cache: QueryClient, stageId: StageId): Promise<void> {
  const { saving, setSaving } = useUnsent.getState();
  const next = (saving[stageId] ?? Promise.resolve()).then(() => saveNow(cache, stageId));
  setSaving(stageId, next);
  return next;
}

async function saveNow(cache: QueryClient, stageId: StageId): Promise<void> {
  const unsent = useUnsent.getState().texts[stageId];
  if (unsent === undefined) return;
  try {
    const sent = await untilDelivered((_attempt, signal) => putDraft(cache, draft(stageId, unsent), { signal }));
    if (sent === null) useUnsent.getState().textSaved(stageId, unsent);
    else wasSentAs(stageId, unsent, sent);
  } catch {
    // The browser keeps the text; the next key pressed tries again.
  }
}

/** The server has the message of a draft: its text is no draft any longer, but what was added to it is another one. */
function wasSentAs(stageId: StageId, { messageId }: UnsentText, sent: string): void {
  const { texts, setText, textSaved } = useUnsent.getState();
  const now = texts[stageId];
  if (now?.messageId !== messageId) return;
  if (now.text === sent || now.text.endsWith(BETWEEN + sent)) textSaved(stageId, now);
  else setText(stageId, { text: now.text, messageId: newMessageId(), sentWith: null });
}

function saveBeforeLeaving(cache: QueryClient, stageId: StageId): void {
  const unsent = useUnsent.getState().texts[stageId];
  if (unsent === undefined || useUnsent.getState().restored.has(stageId)) return;
  putDraft(cache, draft(stageId, unsent), { keepalive: true }).then(
    (sent) => (sent === null ? useUnsent.getState().textSaved(stageId, unsent) : wasSentAs(stageId, unsent, sent)),
    () => undefined,
  );
}
