import { useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate } from 'react-router';
import { boardQuery } from '../data/queries.ts';
import { useBoardUi } from '../features/board/model/board-ui.ts';

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
