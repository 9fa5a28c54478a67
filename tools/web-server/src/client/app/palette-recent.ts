import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../lib/browser-storage.ts';
import { withRecent } from './palette-model.ts';

const KEY = 'callboard-palette-recent';

interface Recent {
  /** The ids of what was chosen lately, the newest first. */
  recent: readonly string[];
  remember(id: string): void;
}

/** What was chosen in the palette lately, kept by this browser. */
export const useRecent = create<Recent>((set, get) => ({
  recent: readStored(KEY, z.array(z.string()), []),
  remember(id) {
    const recent = withRecent(get().recent, id);
    writeStored(KEY, recent);
    set({ recent });
  },
}));
