import { type MouseEvent, useCallback } from 'react';
import { useNavigate } from 'react-router';

/** Follows the links of rows within this page. The handler belongs to the element around all of them. */
export function useRowLinks(): (event: MouseEvent) => void {
  const navigate = useNavigate();
  return useCallback(
    (event) => {
      const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
      if (!isPlain || event.defaultPrevented || !(event.target instanceof Element)) return;
      const link = event.target.closest('a[data-card]');
      if (!(link instanceof HTMLAnchorElement)) return;
      event.preventDefault();
      void navigate(link.pathname);
    },
    [navigate],
  );
}
