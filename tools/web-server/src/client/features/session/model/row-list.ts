import type { ReactNode } from 'react';

/** The rows of a list. It is a new object whenever a row is added, removed or made anew. */
export interface RowList {
  count: number;
  /** Stays with what it names when rows are added before or after it. */
  keyAt: (index: number) => string;
  render: (index: number) => ReactNode;
  /** The rows that stay in the page while they are out of sight, in ascending order: somebody may be writing in them. */
  kept: readonly number[];
}

/** A row to show; another object shows it again. */
export interface Target {
  index: number;
}
