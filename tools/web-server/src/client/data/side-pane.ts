import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../lib/browser-storage.ts';

const KEY = 'callboard-side-pane';

/** The tabs that stand beside the transcript where there is room. */
const SideTab = z.enum(['changes', 'checks', 'phases', 'details']);
export type SideTab = z.infer<typeof SideTab>;

const Saved = z.object({
  /** Null while the transcript has the whole width. */
  tab: SideTab.nullable(),
  /** The transcript's part of the width, in percent. */
  share: z.number(),
});

const WIDEST = 75;
const NARROWEST = 35;

interface SidePane extends z.infer<typeof Saved> {
  show(tab: SideTab | null): void;
  /** Moves the border; it stays where both panes can be read. */
  divide(share: number): void;
  /** Moves the border so that what stands beside has at least this part of the width, in percent; a wider one stays. */
  makeRoom(part: number): void;
}

/** What stands beside the transcript, and where the border is: kept by this browser for every stage. */
export const useSidePane = create<SidePane>((set, get) => {
  const save = (change: Partial<z.infer<typeof Saved>>) => {
    set(change);
    const { tab, share } = get();
    writeStored(KEY, { tab, share });
  };
  return {
    ...readStored(KEY, Saved, { tab: 'changes', share: 56 }),
    show: (tab) => save({ tab }),
    divide: (share) => save({ share: Math.min(WIDEST, Math.max(NARROWEST, share)) }),
    makeRoom: (part) => get().divide(Math.min(get().share, Math.floor(100 - part))),
  };
});
