import type { StageView } from '@callboard/contract';
import { useCallback, useDeferredValue, useMemo } from 'react';
import { type NavigateOptions, useSearchParams } from 'react-router';
import { currentParams } from '../../../lib/use-url-text.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { type BoardFilter, matchesFilter, readFilter, writeFilter } from '../model/filter.ts';

/** The board's filter, from the URL; its text may be a moment ahead of that. */
export function useBoardFilter() {
  const [params, setParams] = useSearchParams();
  const { project, group, text: inAddress } = readFilter(params);
  // A key that is typed is shown at once; the rows follow as soon as there is time.
  const text = useDeferredValue(useBoardUi((ui) => ui.typed) ?? inAddress);
  const filter = useMemo(() => ({ project, group, text }), [project, group, text]);
  const keep = useCallback((stage: StageView) => matchesFilter(stage, filter), [filter]);
  const setFilter = useCallback(
    (change: Partial<BoardFilter>, options: NavigateOptions = { replace: true }) => {
      const now = currentParams();
      setParams(writeFilter(now, { ...readFilter(now), ...change }), options);
    },
    [setParams],
  );
  return { filter, keep, setFilter };
}
