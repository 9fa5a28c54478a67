import type { BoardView } from '@callboard/contract';

/** The groups that people gave to stages, by name. */
export const ownGroups = ({ stages }: Pick<BoardView, 'stages'>): string[] =>
  [...new Set(stages.flatMap(({ group }) => group ?? []))].sort((a, b) =>
    a.localeCompare(b, undefined, { numeric: true }),
  );
