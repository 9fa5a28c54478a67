import { type BoardEvent, isActive } from '@callboard/contract';
import { type RawMessage, readMessage, type StreamMessage } from '@callboard/contract/client';
import type { QueryClient } from '@tanstack/react-query';
import { applyEvent, applyNotices, resync } from './apply-board-event.ts';
import { deltaBuffer, nowBuffer, type StreamStore } from './stream-store.ts';
import { dropStage } from './streaming-text.ts';
import { createTranscriptFeed } from './transcript-feed.ts';

/** Handles every message of the event stream. `streamOpened` gets the id of each new stream. */
export function createReceiver(cache: QueryClient, store: StreamStore, streamOpened: (streamId: string) => void) {
  const deltas = deltaBuffer(store);
  const nows = nowBuffer(store);
  const feed = createTranscriptFeed(cache, store);

  function onEvent(event: BoardEvent): void {
    applyEvent(cache, event);
    if (event.type === 'transcript-appended') feed.appended(event.data.stageId, event.data.index);
    if (event.type === 'session-updated' && event.data.now?.kind !== 'thinking') nows.drop(event.data.stageId);
    if (event.type === 'session-updated' && !isActive(event.data.state)) {
      // Drops text that was never stored (an interrupted sentence). Stored text gets a moment to arrive first.
      setTimeout(() => store.setState((state) => ({ text: dropStage(state.text, event.data.stageId) })), 1_000);
    }
  }

  function onMessage(raw: RawMessage): void {
    const message = readable(raw);
    if (message === 'unreadable') resync(cache);
    else if (message !== null) take(message);
  }

  function take(message: StreamMessage): void {
    switch (message.type) {
      case 'text-delta':
        deltas.add(message.data);
        break;
      case 'session-now':
        nows.add(message.data);
        break;
      case 'orchestrator-status':
        store.setState({ orchestrator: message.data.status });
        break;
      case 'notices-updated':
        applyNotices(cache, message.data);
        break;
      case 'stream':
        streamOpened(message.data.streamId);
        break;
      case 'resync':
        resync(cache, message.data.seq);
        break;
      default:
        onEvent(message);
    }
  }

  function forgetText(): void {
    deltas.clear();
    nows.clear();
  }

  return { onMessage, forgetText };
}

/** Parses a message. An unreadable one may have meant anything, so what is on screen may be out of date. */
function readable(raw: RawMessage): StreamMessage | 'unreadable' | null {
  try {
    return readMessage(raw, 'shape');
  } catch {
    return 'unreadable';
  }
}
