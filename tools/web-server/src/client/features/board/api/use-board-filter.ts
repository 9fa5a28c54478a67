import type { StageView } from '@callboard/contract';
import { createContext, use, useCallback, useDeferredValue, useMemo } from 'react';
import { type NavigateOptions, useSearchParams } from 'react-router';
import { currentParams } from '../../../lib/use-url-text.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { type BoardFilter, matchesFilter, readFilter, writeFilter } from '../model/filter.ts';

interface BoardFiltering {
  filter: BoardFilter;
  /** Whether a stage matches the filter; the same function until the filter changes. */
  save: (stage: StageView) => boolean;
  setFilter: (change: Partial<BoardFilter>, options?: NavigateOptions) => void;
}

const Filtering = createContext<BoardFiltering | null>(null);
export const BoardFilterContext = Filtering.Provider;

/** Reads the board's filter from the URL; its text may be a moment ahead of that. For the provider alone. */
export function useFiltering(): BoardFiltering {
  const [params, setParams] = useSearchParams();
  const { project, group, text: inAddress } = readFilter(params);
  // A key that is typed is shown at once; the rows follow as soon as there is time.
  const text = useDeferredValue(useBoardUi((ui) => ui.typed) ?? inAddress);
  const setFilter = useCallback(
    (change: Partial<BoardFilter>, options: NavigateOptions = { replace: true }) => {
      const now = currentParams();
      setParams(writeFilter(now, { ...readFilter(now), ...change }), options);
    },
    [setParams],
  );
  return useMemo(() => {
    const filter = { project, group, text };
    return { filter, save: (stage) => matchesFilter(stage, filter), setFilter };
  }, [project, group, text, setFilter]);
}

/** The board's filter, below a `BoardFilterProvider`: whoever reads it is drawn once for a key that is typed, not twice. */
export function useBoardFilter(): BoardFiltering {
  const filtering = use(Filtering);
  if (filtering === null) throw new Error('There is no BoardFilterProvider above this part of the board.');
  return filtering;
}
