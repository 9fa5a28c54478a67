import type { ReactNode } from 'react';
import { BoardFilterContext, useFiltering } from '../api/use-board-filter.ts';

/** Gives the board's filter to everything below it. Of what is below, only what reads the filter is drawn again for a change. */
export const BoardFilterProvider = ({ children }: { children: ReactNode }) => (
  <BoardFilterContext value={useFiltering()}>{children}</BoardFilterContext>
);
