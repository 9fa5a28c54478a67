import { StageId } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate } from 'react-router';
import { type BoardForm, useBoardUi } from '../data/board-ui.ts';
import { boardQuery } from '../data/queries.ts';
import { pagePath } from '../lib/base-path.ts';

/** Where a stage's page shows its transcript beside its other tabs. */
export const TWO_PANES = '(min-width: 1280px)';

/** The stage that a person looks at, or whose card has the focus: what keys and the palette act on. Null if there is none. */
export function stageAtHand(): StageId | null {
  const shown = /^\/stages\/([^/]+)$/.exec(pagePath(window.location.pathname))?.[1];
  const card = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.card : undefined;
  return StageId.safeParse(shown ?? card).data ?? null;
}

/** Returns a function that opens a form over the board, once the palette has closed. */
export function useOpenForm(): (form: BoardForm) => () => void {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  return (form) => () => {
    setTimeout(() => useBoardUi.getState().open(form));
    if (pathname !== '/') void navigate('/');
  };
}

/** Returns a function that opens the form for a new stage, on the board. */
export function useOpenNewStage(): () => void {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const cache = useQueryClient();
  return () => {
    const hasProject = (cache.getQueryData(boardQuery.queryKey)?.projects.length ?? 0) > 0;
    useBoardUi
      .getState()
      .open(hasProject ? { kind: 'new-stage', projectId: null } : { kind: 'add-project', thenNewStage: true });
    if (pathname !== '/') void navigate('/');
  };
}
