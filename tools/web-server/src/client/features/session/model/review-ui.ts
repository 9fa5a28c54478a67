import type { CommentId, DiffSide } from '@callboard/contract';
import { create } from 'zustand';

/** Lines of a file, on one side of its change. */
export interface PickedLines {
  path: string;
  side: DiffSide;
  line: number;
  endLine: number;
}

/** A comment that is being written in this tab. */
export interface Writing extends PickedLines {
  id: CommentId;
  text: string;
  /** Its text before; null for a new comment. */
  original: string | null;
  /** The person was about to leave it with text in it. */
  isAsked: boolean;
}

interface ReviewUi {
  /** By stage. */
  writing: Readonly<Record<string, Writing>>;
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
export const useReviewUi = create<ReviewUi>((set) => ({
  writing: {},
  hand: {},
  whole: {},
  asText: {},
  range: {},
  write: (stageId, writing) =>
    set((all) => ({
      writing: writing === null ? without(all.writing, stageId) : { ...all.writing, [stageId]: writing },
    })),
  setText: (stageId, text) =>
    set(({ writing }) => {
      const own = writing[stageId];
      return own === undefined ? {} : { writing: { ...writing, [stageId]: { ...own, text, isAsked: false } } };
    }),
  ask: (stageId, isAsked) =>
    set(({ writing }) => {
      const own = writing[stageId];
      return own === undefined ? {} : { writing: { ...writing, [stageId]: { ...own, isAsked } } };
    }),
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
