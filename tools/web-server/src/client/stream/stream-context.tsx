import type { SessionNow, SessionSummary, StageId } from '@callboard/contract';
import { createContext, use, useEffect, useMemo } from 'react';
import { useStore } from 'zustand';
import { useShallow } from 'zustand/shallow';
import type { BoardStream } from './start-stream.ts';
import { canAnswer, canCommand, type StreamingBlock, type StreamState } from './stream-store.ts';

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

/** Subscribes to the streaming text of a stage while the component is mounted. */
export function useWatchedText(stageId: StageId): void {
  const stream = useStream();
  useEffect(() => stream.watch(stageId), [stream, stageId]);
}

/** A block that a stage is writing right now, without its text. */
export type LiveBlock = Pick<StreamingBlock, 'blockId' | 'kind'>;

/** The blocks of the main conversation that a stage is writing right now. Text that arrives does not change them. */
export function useLiveBlocks(stageId: StageId): readonly LiveBlock[] {
  const names = useStore(
    useStream().store,
    useShallow((state: StreamState) =>
      (state.text[stageId] ?? NONE).flatMap(({ kind, blockId, parentToolUseId }) =>
        parentToolUseId === null ? [`${kind} ${blockId}`] : [],
      ),
    ),
  );
  return useMemo(
    () =>
      names.map((name) => ({
        kind: name.startsWith('text ') ? 'text' : 'thinking',
        blockId: name.slice(name.indexOf(' ') + 1),
      })),
    [names],
  );
}

const NONE: readonly StreamingBlock[] = [];

/** The text of a block that is being written, as it arrives; empty if it is none. */
export function useLiveText(stageId: StageId, blockId: string): string {
  return useStore(useStream().store, (state) => {
    const block = (state.text[stageId] ?? NONE).find((one) => one.blockId === blockId);
    if (block === undefined) return '';
    return block.start === 0 ? block.text : `… ${block.text}`;
  });
}

/** Returns what a session does this moment; null if it does nothing. Changes at most once a second while Claude writes. */
export function useSessionNow(session: Pick<SessionSummary, 'stageId' | 'now'> | null): SessionNow | null {
  const live = useStreamState(({ now }) => (session === null ? undefined : now[session.stageId]));
  const own = session?.now ?? null;
  // A page that was loaded in the middle has it from the board; what the stream says is newer.
  return own === null || own.kind === 'tool' ? own : (live ?? own);
}
