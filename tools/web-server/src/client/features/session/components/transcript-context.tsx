import type { PendingRequest } from '@callboard/contract';
import { createContext, type ReactNode, use } from 'react';

/** What the items of a transcript need of the page that they stand on. */
export interface TranscriptParts {
  /** The stage's worktree: paths in it are shown from there. */
  folder: string | null;
  /** The forms of the requests that wait at a tool call. */
  requestsOf: (toolUseId: string) => ReactNode;
  /** The request that the call waits with, if any. */
  requestAt: (toolUseId: string) => PendingRequest | undefined;
}

const PartsContext = createContext<TranscriptParts>({
  folder: null,
  requestsOf: () => null,
  requestAt: () => undefined,
});

export const TranscriptPartsProvider = PartsContext.Provider;
export const useTranscriptParts = (): TranscriptParts => use(PartsContext);
