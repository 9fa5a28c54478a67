import { pause } from '@callboard/runtime/waits';
import type { Calls } from './call.ts';
import { type EventStreamOptions, readEventStream } from './event-stream.ts';
import { readMessage } from './sse-reader.ts';
import { type StreamItem, TransportError } from './transport.ts';

export interface HttpEventsOptions {
  call: Calls['call'];
  /** The last known event; null to begin with the next one. */
  since: number | null;
  signal: AbortSignal;
  silenceMs: number | undefined;
  maxPauseMs: number;
  /** `reopen` ends this connection; the next one follows at once. */
  onOpen: (streamId: string, reopen: () => void) => void;
  onEnd: (streamId: string) => void;
}

const FIRST_PAUSE_MS = 100;
const UNREACHABLE: StreamItem = { type: 'orchestrator-status', data: { status: 'unreachable' } };

/** Yields events across reconnections as one sequence. */
export async function* httpEvents(deps: HttpEventsOptions): AsyncGenerator<StreamItem, void> {
  const { signal, maxPauseMs } = deps;
  let { since } = deps;
  let status: string | null = null;
  let pauseMs = FIRST_PAUSE_MS;
  /** The last connection was lost, or is held up by a proxy: the next one polls from its beginning. */
  let isSuspect = false;
  /** The connection ends because another one is wanted. */
  let isMoving = false;
  const onMove = () => {
    isMoving = true;
  };
  while (!signal.aborted) {
    try {
      const onStalled = (isStalled: boolean) => {
        isSuspect = isStalled;
      };
      const onPosition = (seq: number) => {
        since ??= seq;
      };
      for await (const item of oneConnection({ ...deps, since, isSuspect, onMove, onStalled, onPosition })) {
        pauseMs = FIRST_PAUSE_MS;
        if (item.type === 'stream') since ??= item.data.seq;
        else if (item.type === 'resync') since = item.data.seq;
        else if ('seq' in item) since = item.seq;
        if (item.type === 'stream' || (item.type === 'orchestrator-status' && item.data.status === status)) continue;
        if (item.type === 'orchestrator-status') status = item.data.status;
        yield item;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof TransportError) || !error.isTransient) throw error;
      isSuspect ||= error.code === 'network';
    }
    if (signal.aborted) return;
    if (isMoving) {
      isMoving = false;
      continue;
    }
    if (status !== 'unreachable') yield UNREACHABLE;
    status = 'unreachable';
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, maxPauseMs);
  }
}

/** Yields the items of one connection until it ends; throws `network` if it is lost. */
async function* oneConnection(
  deps: HttpEventsOptions & Pick<EventStreamOptions, 'isSuspect' | 'onStalled' | 'onPosition'> & { onMove: () => void },
) {
  const { call, since, silenceMs, isSuspect, onStalled, onPosition, onOpen, onEnd, onMove } = deps;
  let streamId: string | null = null;
  const over = new AbortController();
  const reopen = () => {
    onMove();
    over.abort();
  };
  try {
    const signal = AbortSignal.any([deps.signal, over.signal]);
    const reported = { isSuspect, onStalled, onPosition, ...(silenceMs !== undefined && { silenceMs }) };
    const options = { since, signal, ...reported };
    for await (const raw of readEventStream(call, options)) {
      const item = readMessage(raw, 'whole');
      if (item?.type === 'stream') {
        streamId = item.data.streamId;
        onOpen(streamId, reopen);
      }
      // Clients get the notices with the board.
      if (item !== null && item.type !== 'notices-updated') yield item;
    }
  } finally {
    if (streamId !== null) onEnd(streamId);
  }
}
