import type { StageView } from '@callboard/contract';
import { useCallback, useMemo } from 'react';
import { type NavigateOptions, useSearchParams } from 'react-router';
import { currentParams } from '../../../lib/use-url-text.ts';
import { type BoardFilter, matchesFilter, readFilter, writeFilter } from '../model/filter.ts';

/** The board's filter, from the URL. */
export function useBoardFilter() {
  const [params, setParams] = useSearchParams();
  const { project, group, text } = readFilter(params);
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
