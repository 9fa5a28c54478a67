import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../../../lib/browser-storage.ts';

const LAYOUT = 'callboard-changes-layout';
const Layout = z.enum(['inline', 'split']);
type Layout = z.infer<typeof Layout>;

interface ChangesView {
  layout: Layout;
  setLayout(layout: Layout): void;
}

/** How this browser shows changes. */
export const useChangesDisplay = create<ChangesView>((set) => ({
  layout: readStored(LAYOUT, Layout, 'inline'),
  setLayout(layout) {
    writeStored(LAYOUT, layout);
    set({ layout });
  },
}));
