import type { SessionNow, SessionSummary, StageId } from '@callboard/contract';
import { createContext, use, useEffect } from 'react';
import { useStore } from 'zustand';
import type { BoardStream } from './start-stream.ts';
import { canAnswer, canCommand, type StreamState } from './stream-store.ts';
import type { StreamingBlock } from './streaming-text.ts';

const StreamContext = createContext<BoardStream | null>(null);
export const StreamProvider = StreamContext.Provider;

function useStream(): BoardStream {
  const stream = use(StreamContext);
  if (stream === null) throw new Error('There is no StreamProvider above this component.');
  return stream;
}

export function useStreamState<T>(select: (state: StreamState) => T): T {
  return useStore(useStream().store, select);
}

/** False while the connection is lost or the orchestrator is away: buttons that cannot work are disabled. */
export const useCanCommand = (): boolean => useStreamState(canCommand);

/** Like `useCanCommand`, for answers. They are resent until they arrive, so a short absence does not disable them. */
export const useCanAnswer = (): boolean => useStreamState(canAnswer);

const NONE: readonly StreamingBlock[] = [];

/** The text a stage is writing right now. Subscribes to it while the component is mounted. */
export function useStreamingText(stageId: StageId): readonly StreamingBlock[] {
  const stream = useStream();
  useEffect(() => stream.watch(stageId), [stream, stageId]);
  return useStore(stream.store, (state) => state.text[stageId] ?? NONE);
}

/** Returns what a session does this moment; null if it does nothing. Changes at most once a second while Claude writes. */
export function useSessionNow(session: Pick<SessionSummary, 'stageId' | 'now'> | null): SessionNow | null {
  const live = useStreamState(({ now }) => (session === null ? undefined : now[session.stageId]));
  const own = session?.now ?? null;
  // A page that was loaded in the middle has it from the board; what the stream says is newer.
  return own === null || own.kind === 'tool' ? own : (live ?? own);
}
