import type { FileDiff, StageId } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../../../lib/browser-storage.ts';

const LAYOUT = 'callboard-changes-layout';
const Layout = z.enum(['inline', 'split']);
type Layout = z.infer<typeof Layout>;

const Viewed = z.record(z.string(), z.string());
/** By path: the version of the file that was viewed. */
type Viewed = z.infer<typeof Viewed>;

const viewedKey = (stageId: StageId) => `callboard-viewed:${stageId}`;

interface ChangesView {
  layout: Layout;
  setLayout(layout: Layout): void;
  /** By stage: the files that somebody ticked as viewed. */
  viewed: Readonly<Record<string, Viewed>>;
  /** Reads what this browser remembers of a stage. */
  open(stageId: StageId): void;
  setViewed(stageId: StageId, file: FileDiff, isViewed: boolean): void;
}

/** How this browser shows changes, and what was viewed in it. */
export const useChangesDisplay = create<ChangesView>((set, get) => ({
  layout: readStored(LAYOUT, Layout, 'inline'),
  setLayout(layout) {
    writeStored(LAYOUT, layout);
    set({ layout });
  },
  viewed: {},
  open(stageId) {
    const stored = readStored(viewedKey(stageId), Viewed, {});
    set(({ viewed }) => ({ viewed: { ...viewed, [stageId]: stored } }));
  },
  setViewed(stageId, { path, version }, isViewed) {
    const { [path]: _, ...others } = get().viewed[stageId] ?? {};
    const next = isViewed ? { ...others, [path]: version } : others;
    writeStored(viewedKey(stageId), next);
    set(({ viewed }) => ({ viewed: { ...viewed, [stageId]: next } }));
  },
}));

/** Whether this very version of the file was ticked as viewed. */
export const isViewed = (viewed: Viewed | undefined, { path, version }: FileDiff): boolean =>
  version !== '' && viewed?.[path] === version;
