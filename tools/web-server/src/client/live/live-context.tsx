import type { StageId } from '@callboard/contract';
import { createContext, use, useEffect } from 'react';
import { useStore } from 'zustand';
import type { Live } from './live.ts';
import type { LiveBlock } from './live-text.ts';
import { canAnswer, canCommand, type LiveState } from './state.ts';

const LiveContext = createContext<Live | null>(null);
export const LiveProvider = LiveContext.Provider;

function useLive(): Live {
  const live = use(LiveContext);
  if (live === null) throw new Error('no LiveProvider above this component');
  return live;
}

export function useLiveState<T>(select: (state: LiveState) => T): T {
  return useStore(useLive().store, select);
}

/** False while the connection is lost or the orchestrator is away: buttons that cannot work are off. */
export const useCanCommand = (): boolean => useLiveState(canCommand);

/** Like `useCanCommand` for answers, which are sent again until they arrive: they can be given during a short absence. */
export const useCanAnswer = (): boolean => useLiveState(canAnswer);

const NONE: readonly LiveBlock[] = [];

/** The text that a stage is writing just now; asks for it while the component is shown. */
export function useLiveText(stageId: StageId): readonly LiveBlock[] {
  const live = useLive();
  useEffect(() => live.watch(stageId), [live, stageId]);
  return useStore(live.store, (state) => state.text[stageId] ?? NONE);
}
