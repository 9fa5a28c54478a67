import { type PendingRequest, type RewindRecord, StageId } from '@callboard/contract';
import { createContext, type ReactNode, use } from 'react';

/** What the items of a transcript need from their page. */
export interface TranscriptParts {
  stageId: StageId;
  /** The times that a person went back, oldest first. */
  goneBack: readonly RewindRecord[];
  /** Whether what was taken back then is shown. */
  isOpen: (rewinds: RewindRecord) => boolean;
  /** The stage's worktree. Paths inside are shown relative to it. */
  folder: string | null;
  /** The forms of a tool call's open requests. */
  requestsOf: (toolUseId: string) => ReactNode;
  /** The tool call's open request, if any. */
  requestAt: (toolUseId: string) => PendingRequest | undefined;
}

const PartsContext = createContext<TranscriptParts>({
  stageId: StageId.parse('STAGE-0'),
  goneBack: [],
  isOpen: () => false,
  folder: null,
  requestsOf: () => null,
  requestAt: () => undefined,
});

export const TranscriptPartsProvider = PartsContext.Provider;
export const useTranscriptDeps = (): TranscriptParts => use(PartsContext);
