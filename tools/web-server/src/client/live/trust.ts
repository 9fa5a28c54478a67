import type { ProjectId, StageId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { z } from 'zod';
import { create } from 'zustand';
import { client } from '../lib/api.ts';
import { readStored, writeStored } from '../lib/stored.ts';

/** What is looked at: the repository of a project, or the worktree of one of its stages. */
export interface TrustPlace {
  projectId: ProjectId;
  stageId?: StageId | undefined;
}

/** What settings would switch on there, looked at anew. */
export const trustQuery = ({ projectId, stageId }: TrustPlace) =>
  queryOptions({
    queryKey: ['trust', projectId, stageId ?? null],
    queryFn: ({ signal }) => client.command('get_trust', { projectId, stageId }, { signal }),
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

const LATER = 'callboard-trust-later';

interface TrustLater {
  /** By project: the settings (their hash) that somebody here has looked at and not agreed to. */
  hashes: Readonly<Record<string, string>>;
  /** Says no more of these settings on the board; others are told of again. */
  later(projectId: ProjectId, hash: string): void;
}

/** What this browser was told "Not now" of. */
export const useTrustLater = create<TrustLater>((set, get) => ({
  hashes: readStored(LATER, z.record(z.string(), z.string()), {}),
  later(projectId, hash) {
    const hashes = { ...get().hashes, [projectId]: hash };
    writeStored(LATER, hashes);
    set({ hashes });
  },
}));
