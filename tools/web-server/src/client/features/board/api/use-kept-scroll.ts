import type { Column } from '@callboard/contract';
import { useCallback } from 'react';

const KEY = 'callboard-scroll-';

/** A column stands where it was left, after another page and after a reload. */
export function useKeptScroll(column: Column) {
  const attach = useCallback(
    (list: HTMLElement | null) => {
      const kept = Number(sessionStorage.getItem(KEY + column) ?? 0);
      if (list !== null && kept > 0) list.scrollTop = kept;
    },
    [column],
  );
  const onScroll = useCallback(
    ({ currentTarget }: { currentTarget: HTMLElement }) =>
      sessionStorage.setItem(KEY + column, String(Math.round(currentTarget.scrollTop))),
    [column],
  );
  return { attach, onScroll };
}
