import type { RawMessage } from '@callboard/contract/client';
import { openEventStream } from './event-source.ts';
import { seekLeadership } from './leadership.ts';
import { openTabChannel, type TabChannel, type TabMessage, tabsCanShare } from './tab-messages.ts';

export interface SharedStreamOptions {
  since: () => number;
  onMessage: (message: RawMessage) => void;
  /** The connection is there (again). `since` is the `seq` that it started at. */
  onOpen: (since: number) => void;
  onLost: (failures: number) => void;
  /** The stages that all tabs together watch, whenever that changes; only in the tab that holds the stream. */
  onWatched: (stageIds: string[]) => void;
}

export interface SharedStream {
  /** The stages that this tab watches. */
  watch(stageIds: string[]): void;
  close(): void;
}

/** Its number is raised, with that of the lock, when tabs of the version before would not be understood. */
const CHANNEL = 'callboard-events-2';
/** How long a leader may take to answer, and how often a visible tab asks. */
const ANSWER_MS = 2_000;
const PING_MS = 15_000;

/** One event stream for all tabs of the browser; a stream for each tab where they cannot talk to each other. */
export function openSharedStream(options: SharedStreamOptions): SharedStream {
  return tabsCanShare() ? openBetweenTabs(options) : openAlone(options);
}

function openAlone({ since, onMessage, onOpen, onLost, onWatched }: SharedStreamOptions): SharedStream {
  let from = since();
  const startAt = () => {
    from = since();
    return from;
  };
  const stream = openEventStream({ since: startAt, onMessage, onLost, onOpen: () => onOpen(from) });
  return { watch: onWatched, close: stream.close };
}

interface Leader {
  /** Tells the other tabs how the connection is. */
  tellConnection(): void;
  stop(): void;
}

/** Holds the stream for all tabs: passes on what it says and how the connection is. */
function beginLeading(options: SharedStreamOptions, channel: TabChannel, opened: () => void): Leader {
  let state: { connection: 'open' | 'lost'; since: number } = { connection: 'lost', since: options.since() };
  const tellConnection = () => channel.post({ type: 'connection', ...state });
  channel.post({ type: 'who-watches' });
  const stream = openAlone({
    ...options,
    onMessage(message) {
      channel.post({ type: 'message', message });
      options.onMessage(message);
    },
    onOpen(since) {
      state = { connection: 'open', since };
      tellConnection();
      options.onOpen(since);
      opened();
    },
    onLost(failures) {
      state = { connection: 'lost', since: options.since() };
      tellConnection();
      options.onLost(failures);
    },
  });
  return { tellConnection, stop: stream.close };
}

function openBetweenTabs(options: SharedStreamOptions): SharedStream {
  const tab = crypto.randomUUID();
  const watched = new Map<string, string[]>();
  let mine: string[] = [];
  let leader: Leader | undefined;
  let heardAt = 0;

  const channel: TabChannel = openTabChannel(CHANNEL, hear);
  const ping = () => channel.post({ type: 'ping', tab, stageIds: mine });
  const tellWatched = () => options.onWatched([...new Set([...watched.values(), mine].flat())]);

  function hear(message: TabMessage): void {
    if (message.type === 'ping') {
      watched.set(message.tab, message.stageIds);
      if (leader === undefined) return;
      tellWatched();
      leader.tellConnection();
      return;
    }
    heardAt = Date.now();
    if (message.type === 'message') options.onMessage(message.message);
    else if (message.type === 'who-watches') ping();
    else if (message.connection === 'open') options.onOpen(message.since);
    else options.onLost(1);
  }

  const leadership = seekLeadership(() => {
    const mandate = beginLeading(options, channel, tellWatched);
    leader = mandate;
    return () => {
      leader = undefined;
      mandate.stop();
    };
  });
  const stopAsking = askRegularly(() => {
    if (leader !== undefined) return;
    const asked = Date.now();
    ping();
    setTimeout(() => leader === undefined && heardAt < asked && leadership.takeOver(), ANSWER_MS);
  });
  return {
    watch(stageIds) {
      mine = stageIds;
      if (leader === undefined) ping();
      else tellWatched();
    },
    close() {
      stopAsking();
      leadership.leave();
      channel.close();
    },
  };
}

/** A tab that nobody looks at may sleep; one that is looked at wants to know that its leader does not. */
function askRegularly(ask: () => void): () => void {
  const askIfVisible = () => document.visibilityState === 'visible' && ask();
  const timer = setInterval(askIfVisible, PING_MS);
  document.addEventListener('visibilitychange', askIfVisible);
  askIfVisible();
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', askIfVisible);
  };
}
