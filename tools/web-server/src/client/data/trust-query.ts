import type { ProjectId, StageId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { z } from 'zod';
import { create } from 'zustand';
import { client } from '../lib/api-client.ts';
import { readStored, writeStored } from '../lib/browser-storage.ts';

/** Whose settings are reviewed: a project's repository, or the worktree of one of its stages. */
export interface TrustLocation {
  projectId: ProjectId;
  stageId?: StageId | undefined;
}

/** What the settings there would enable, read again on each mount. */
export const trustQuery = ({ projectId, stageId }: TrustLocation) =>
  queryOptions({
    queryKey: ['trust', projectId, stageId ?? null],
    queryFn: ({ signal }) => client.command('get_trust', { projectId, stageId }, { signal }),
    // No event reports a change of the files.
    staleTime: 0,
    refetchOnMount: 'always',
  });

interface TrustDialogState {
  /** Null while the dialog is closed. */
  place: TrustLocation | null;
  open(location: TrustLocation): void;
  close(): void;
}

/** The dialog that asks whether to trust a repository. Any page opens it with `useTrustDialog.getState().open(...)`. */
export const useTrustDialog = create<TrustDialogState>((set) => ({
  place: null,
  open: (place) => set({ place }),
  close: () => set({ place: null }),
}));

const LATER = 'callboard-trust-later';

interface TrustLater {
  /** By project: the hash of the settings that were reviewed here and not agreed to. */
  hashes: Readonly<Record<string, string>>;
  /** Hides the notice about these settings; it returns when they change. */
  later(projectId: ProjectId, hash: string): void;
}

/** The settings for which this browser answered "Not now". */
export const useTrustLater = create<TrustLater>((set, get) => ({
  hashes: readStored(LATER, z.record(z.string(), z.string()), {}),
  later(projectId, hash) {
    const hashes = { ...get().hashes, [projectId]: hash };
    writeStored(LATER, hashes);
    set({ hashes });
  },
}));
