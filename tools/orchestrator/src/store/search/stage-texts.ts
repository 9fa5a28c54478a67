import { createHash } from 'node:crypto';
import { type CommentId, onlySeenBy, type Stage, type TranscriptEntry } from '@callboard/contract';
import type { CommentRecord } from '../records.ts';
import { type IndexedText, textOfEntry } from './entry-text.ts';

/** The events that change a text that can be found. */
export const CHANGES_OF_TEXTS = [
  'stage-created',
  'stage-updated',
  'stage-removed',
  'transcript-appended',
  'comments-updated',
];

/** A text to be indexed. */
export interface Item extends IndexedText {
  /** The transcript entry; null for everything else. */
  index: number | null;
  comment: CommentId | null;
  /** Who alone may find it; null: everybody. */
  onlyFor: string | null;
  at: string;
}

/** A stage's texts that may change. */
export interface StageTexts {
  items: Item[];
  /** Changes with the texts. */
  signature: string;
}

/** The texts of transcript entries; those without words are left out. */
export const itemsOfEntries = (entries: readonly TranscriptEntry[]): Item[] =>
  entries.flatMap((entry): Item[] => {
    const text = textOfEntry(entry);
    return text === null ? [] : [{ ...text, index: entry.index, comment: null, onlyFor: null, at: entry.at }];
  });

/** The texts of a stage that may change. Another kind of them is added here. */
export function textsOfStage(stage: Stage, comments: readonly CommentRecord[]): StageTexts {
  const own = { by: null, toolName: null, index: null, comment: null, onlyFor: null, at: stage.createdAt };
  const items: Item[] = [
    { ...own, kind: 'title', text: titleText(stage) },
    { ...own, kind: 'prompt', text: promptText(stage) },
    ...comments.map((comment): Item => {
      const { id, author, text, createdAt } = comment;
      const who = { by: author, onlyFor: onlySeenBy(comment) };
      return { ...own, ...who, kind: 'comment', text, comment: id, at: createdAt };
    }),
  ];
  return { items, signature: createHash('sha256').update(JSON.stringify(items)).digest('base64') };
}

/** What a stage is found by as its title. */
export const titleText = ({ title, id, group }: Stage): string => [title, id, group ?? ''].join('\n');

/** What a stage is found by as its prompt. */
export const promptText = ({ prompt, pipeline }: Stage): string =>
  [prompt, ...(pipeline ?? []).map((phase) => phase.prompt)].join('\n');
