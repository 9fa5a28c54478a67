import { CommentId, DiffSide } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import { unsentOnDevice } from '../../../lib/unsent-on-device.ts';

/** Lines of a file, on one side of its change. */
export interface PickedLines {
  path: string;
  side: DiffSide;
  line: number;
  endLine: number;
}

const WrittenComment = z.object({
  id: CommentId,
  path: z.string(),
  side: DiffSide,
  line: z.number(),
  endLine: z.number(),
  text: z.string(),
  /** Its text before; null for a new comment. */
  original: z.string().nullable(),
  /** The person was about to leave it with text in it. */
  isAsked: z.boolean(),
});

/** A comment that is being written in this tab. */
export type Writing = z.infer<typeof WrittenComment>;

const onDevice = unsentOnDevice('comment', WrittenComment);

interface ReviewUi {
  /** By stage. */
  writing: Readonly<Record<string, Writing>>;
  /** The stages of which an earlier page has left one in this browser, until it is known whether the server has it. */
  left: ReadonlySet<string>;
  /** The lines that keys work on, or that the pointer picks. */
  hand: Readonly<Record<string, PickedLines>>;
  /** Files that are shown whole, by stage and path. */
  whole: Readonly<Record<string, boolean>>;
  /** Drawings (SVG) that are shown as text, by stage and path. */
  asText: Readonly<Record<string, boolean>>;
  /** Which of the changes are shown: all of them if missing. */
  range: Readonly<Record<string, string>>;
  write(stageId: string, writing: Writing | null): void;
  setText(stageId: string, text: string): void;
  /** The server has it: from now on it is a draft that is there, and this browser forgets it. */
  stored(stageId: string, writing: Writing): void;
  /** What an earlier page has left is closed if the server has it, else written on. */
  join(stageId: string, stored: string | null): void;
  ask(stageId: string, isAsked: boolean): void;
  take(stageId: string, lines: PickedLines | null): void;
  showWhole(stageId: string, path: string, isWhole: boolean): void;
  showText(stageId: string, path: string, isText: boolean): void;
  setRange(stageId: string, range: string): void;
}

const without = <T>(all: Readonly<Record<string, T>>, key: string): Record<string, T> => {
  const { [key]: _, ...others } = all;
  return others;
};

/** What only this tab knows of the reviews of stages. */
export const useReviewUi = create<ReviewUi>((set, get) => ({
  writing: onDevice.all(),
  left: new Set(Object.keys(onDevice.all())),
  hand: {},
  whole: {},
  asText: {},
  range: {},
  write(stageId, writing) {
    const before = get().writing[stageId];
    if (writing !== null) onDevice.save(stageId, writing);
    else if (before !== undefined) onDevice.forget(stageId, before);
    set((all) => ({
      writing: writing === null ? without(all.writing, stageId) : { ...all.writing, [stageId]: writing },
    }));
  },
  setText(stageId, text) {
    const own = get().writing[stageId];
    if (own !== undefined) get().write(stageId, { ...own, text, isAsked: false });
  },
  stored: onDevice.forget,
  join(stageId, stored) {
    if (get().writing[stageId]?.text === stored) get().write(stageId, null);
    set(({ left }) => ({ left: new Set([...left].filter((one) => one !== stageId)) }));
  },
  ask(stageId, isAsked) {
    const own = get().writing[stageId];
    if (own !== undefined) get().write(stageId, { ...own, isAsked });
  },
  take: (stageId, lines) =>
    set(({ hand }) => ({ hand: lines === null ? without(hand, stageId) : { ...hand, [stageId]: lines } })),
  showWhole: (stageId, path, isWhole) =>
    set(({ whole }) => ({ whole: { ...whole, [fileKey(stageId, path)]: isWhole } })),
  showText: (stageId, path, isText) =>
    set(({ asText }) => ({ asText: { ...asText, [fileKey(stageId, path)]: isText } })),
  setRange: (stageId, range) => set((all) => ({ range: { ...all.range, [stageId]: range } })),
}));

export const fileKey = (stageId: string, path: string): string => `${stageId}\0${path}`;

/** The lines between two, in the order of the file; those of the first one's side. */
export function linesBetween(from: PickedLines, line: number): PickedLines {
  return { ...from, line: Math.min(from.line, line), endLine: Math.max(from.line, line) };
}
