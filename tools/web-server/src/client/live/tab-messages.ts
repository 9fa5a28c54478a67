import type { RawMessage } from '@callboard/contract/client';

/** What the tabs of one browser say to each other. The tab that holds the stream is the leader. */
export type TabMessage =
  /** Leader: one message of the stream. */
  | { type: 'message'; message: RawMessage }
  /** Leader: how the connection is; `since` is what it was opened at. */
  | { type: 'connection'; connection: 'open' | 'lost'; since: number }
  /** Any tab: is there a leader that answers? Says which stages the tab watches. */
  | { type: 'ping'; tab: string; stageIds: string[] }
  /** Leader: which stages does each of you watch? Asked by a new leader. */
  | { type: 'who-watches' };

/** A BroadcastChannel of that type; null where there is none. */
export interface TabChannel {
  post(message: TabMessage): void;
  close(): void;
}

export function openTabChannel(name: string, onMessage: (message: TabMessage) => void): TabChannel {
  const channel = new BroadcastChannel(name);
  // Only pages of this very origin and version post here.
  channel.onmessage = (event: MessageEvent<TabMessage>) => onMessage(event.data);
  return { post: (message) => channel.postMessage(message), close: () => channel.close() };
}

export const tabsCanShare = (): boolean =>
  typeof BroadcastChannel !== 'undefined' && typeof navigator.locks?.request === 'function';
