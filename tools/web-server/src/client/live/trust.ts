import { commands, type ProjectId, type StageId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { create } from 'zustand';
import { call } from '../lib/api.ts';

/** What is looked at: the repository of a project, or the worktree of one of its stages. */
export interface TrustPlace {
  projectId: ProjectId;
  stageId?: StageId | undefined;
}

/** What settings would switch on there, looked at anew. */
export const trustQuery = ({ projectId, stageId }: TrustPlace) =>
  queryOptions({
    queryKey: ['trust', projectId, stageId ?? null],
    queryFn: ({ signal }) =>
      call(`/api/projects/${projectId}/trust${stageId === undefined ? '' : `?stageId=${stageId}`}`, {
        reply: commands.get_trust.reply,
        signal,
      }),
    // The files change without an event.
    staleTime: 0,
    refetchOnMount: 'always',
  });

interface TrustDialogState {
  /** Null while the dialog is closed. */
  place: TrustPlace | null;
  open(place: TrustPlace): void;
  close(): void;
}

/** The dialog that asks whether a repository is to be trusted; from any page: `useTrustDialog.getState().open(...)`. */
export const useTrustDialog = create<TrustDialogState>((set) => ({
  place: null,
  open: (place) => set({ place }),
  close: () => set({ place: null }),
}));
