import type { RawMessage } from '@callboard/contract/client';

/** What the tabs of one browser send each other. The tab that holds the stream is the leader. */
export type TabMessage =
  /** Leader: one message of the stream. */
  | { type: 'message'; message: RawMessage }
  /**
   * Leader: the state of the connection; `since` is the `seq` it was opened at, `isStalled` whether a proxy holds the stream back,
   * `isSilent` whether nothing at all comes from the server.
   */
  | { type: 'connection'; connection: 'open' | 'lost'; since: number; isStalled?: boolean; isSilent?: boolean }
  /** Any tab: does a leader answer? Lists the stages the tab watches. */
  | { type: 'ping'; tab: string; stageIds: string[] }
  /** New leader: which stages does each tab watch? */
  | { type: 'who-watches' };

/** A typed BroadcastChannel. */
export interface TabChannel {
  post(message: TabMessage): void;
  close(): void;
}

export function openTabChannel(name: string, onMessage: (message: TabMessage) => void): TabChannel {
  const channel = new BroadcastChannel(name);
  // Only pages of this origin and version post here.
  channel.onmessage = (event: MessageEvent<TabMessage>) => onMessage(event.data);
  return { post: (message) => channel.postMessage(message), close: () => channel.close() };
}

export const tabsCanShare = (): boolean =>
  typeof BroadcastChannel !== 'undefined' && typeof navigator.locks?.request === 'function';
