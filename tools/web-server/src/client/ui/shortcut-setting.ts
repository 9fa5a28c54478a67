import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../lib/stored.ts';

const KEY = 'callboard-letter-keys';

interface LetterKeys {
  /** Whether single letters do something; who dictates or whose hand slips turns them off. */
  on: boolean;
  set(on: boolean): void;
}

export const useLetterKeys = create<LetterKeys>((set) => ({
  on: readStored(KEY, z.boolean(), true),
  set: (on) => {
    writeStored(KEY, on);
    set({ on });
  },
}));
