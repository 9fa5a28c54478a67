import { useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate } from 'react-router';
import { type BoardForm, useBoardUi } from '../data/board-ui.ts';
import { boardQuery } from '../data/queries.ts';

/** Where a stage's page shows its transcript beside its other tabs. */
export const TWO_PANES = '(min-width: 1280px)';

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
