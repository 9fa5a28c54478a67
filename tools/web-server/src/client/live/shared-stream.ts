import { openEventStream } from './event-source.ts';
import { seekLeadership } from './leadership.ts';
import type { RawMessage } from './stream-message.ts';
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

function openBetweenTabs(options: SharedStreamOptions): SharedStream {
  const tab = crypto.randomUUID();
  const watched = new Map<string, string[]>();
  let mine: string[] = [];
  let leading: { connection: 'open' | 'lost'; since: number } | undefined;
  let lastWordFromLeader = 0;

  const channel: TabChannel = openTabChannel('callboard-events', hear);
  const tellWatched = () => options.onWatched([...new Set([...watched.values(), mine].flat())]);
  const tellConnection = () => leading && channel.post({ type: 'connection', ...leading });

  function hear(message: TabMessage): void {
    if (message.type === 'ping') {
      if (leading === undefined) return;
      watched.set(message.tab, message.stageIds);
      tellWatched();
      tellConnection();
      return;
    }
    lastWordFromLeader = Date.now();
    if (message.type === 'message') options.onMessage(message.message);
    else if (message.type === 'who-watches') ping();
    else if (message.connection === 'open') options.onOpen(message.since);
    else options.onLost(1);
  }

  const ping = () => channel.post({ type: 'ping', tab, stageIds: mine });

  function lead(): () => void {
    leading = { connection: 'lost', since: options.since() };
    channel.post({ type: 'who-watches' });
    const say = (connection: 'open' | 'lost', since: number) => {
      leading = { connection, since };
      tellConnection();
    };
    const stream = openAlone({
      ...options,
      onMessage(message) {
        channel.post({ type: 'message', message });
        options.onMessage(message);
      },
      onOpen(since) {
        say('open', since);
        options.onOpen(since);
        tellWatched();
      },
      onLost(failures) {
        say('lost', options.since());
        options.onLost(failures);
      },
    });
    return () => {
      leading = undefined;
      stream.close();
    };
  }

  const leadership = seekLeadership(lead);
  const stopAsking = askRegularly(() => {
    if (leading !== undefined) return;
    const asked = Date.now();
    ping();
    setTimeout(() => leading === undefined && lastWordFromLeader < asked && leadership.takeOver(), ANSWER_MS);
  });
  return {
    watch(stageIds) {
      mine = stageIds;
      if (leading === undefined) ping();
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
