import type { BoardEvent } from '@callboard/contract';
import type { QueryClient } from '@tanstack/react-query';
import { applyEvent, applyNotices, resync } from './apply-event.ts';
import { dropStage } from './live-text.ts';
import { deltaBuffer, type LiveStore } from './state.ts';
import { parseMessage, type RawMessage } from './stream-message.ts';
import { createTranscriptFeed } from './transcript-feed.ts';

/** Where every message of the stream goes. */
export function createReceiver(cache: QueryClient, store: LiveStore, streamOpened: (streamId: string) => void) {
  const deltas = deltaBuffer(store);
  const feed = createTranscriptFeed(cache, store);

  function onEvent(event: BoardEvent): void {
    applyEvent(cache, event);
    if (event.type === 'transcript-appended') feed.appended(event.data.stageId, event.data.index);
    if (event.type === 'session-updated' && !['busy', 'starting', 'waiting'].includes(event.data.state)) {
      // What streamed and was never stored (an interrupted sentence) goes; what was stored has its time to arrive.
      setTimeout(() => store.setState((state) => ({ text: dropStage(state.text, event.data.stageId) })), 1_000);
    }
  }

  function onMessage(raw: RawMessage): void {
    const message = parseMessage(raw);
    switch (message.type) {
      case 'event':
        onEvent(message.event);
        break;
      case 'text-delta':
        deltas.add(message.delta);
        break;
      case 'orchestrator-status':
        store.setState({ orchestrator: message.status });
        break;
      case 'notices-updated':
        applyNotices(cache, message.notices);
        break;
      case 'stream':
        streamOpened(message.streamId);
        break;
      case 'resync':
      case 'unreadable':
        resync(cache);
        break;
      default:
        message satisfies never;
    }
  }

  return { onMessage, forgetText: deltas.clear };
}
