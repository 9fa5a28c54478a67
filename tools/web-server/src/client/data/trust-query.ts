import type { ProjectId } from '@callboard/contract';
import { queryOptions } from '@tanstack/react-query';
import { z } from 'zod';
import { create } from 'zustand';
import { client } from '../lib/api-client.ts';
import { readStored, writeStored } from '../lib/browser-storage.ts';
import type { TrustLocation } from './dialogs.ts';

/** What the settings there would enable, read again on each mount. */
export const trustQuery = ({ projectId, stageId }: TrustLocation) =>
  queryOptions({
    queryKey: ['trust', projectId, stageId ?? null],
    queryFn: ({ signal }) => client.command('get_trust', { projectId, stageId }, { signal }),
    // No event reports a change of the files.
    staleTime: 0,
    refetchOnMount: 'always',
  });

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
