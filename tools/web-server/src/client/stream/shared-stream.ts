import type { RawMessage } from '@callboard/contract/client';
import { type OpenEventStream, onReturn, openEventStream } from './event-source.ts';
import { seekLeadership } from './leadership.ts';
import { openTabChannel, type TabChannel, type TabMessage, tabsCanShare } from './tab-messages.ts';

export interface SharedStreamOptions {
  since: () => number;
  onMessage: (message: RawMessage) => void;
  /** The connection is open (again). `since` is the `seq` it started at. */
  onOpen: (since: number) => void;
  /** A proxy holds the stream back, and polls take its place; or no longer. */
  onStalled: (isStalled: boolean) => void;
  /** Nothing at all comes from the server, as far as this is known; or something does again. */
  onSilent: (isSilent: boolean) => void;
  onLost: (failures: number) => void;
  /** The stages all tabs together watch, on each change. Called only in the tab that holds the stream. */
  onWatched: (stageIds: string[]) => void;
}

export interface SharedStream {
  /** Sets the stages this tab watches. */
  watch(stageIds: string[]): void;
  /** Opens the stream anew, if this tab holds it. */
  reopen(): void;
  close(): void;
}

/** Raise its number, and that of the lock, when tabs of an older version would not be understood. */
const CHANNEL = 'callboard-events-2';
/** How long a leader may take to answer, and how often a visible tab pings it. */
const ANSWER_MS = 2_000;
const PING_MS = 5_000;

/** Opens one event stream for all tabs of the browser, or one for each tab if they cannot talk to each other. */
export function openSharedStream(options: SharedStreamOptions): SharedStream {
  return tabsCanShare() ? openBetweenTabs(options) : openAlone(options);
}

function openAlone({
  since,
  onMessage,
  onOpen,
  onStalled,
  onSilent,
  onLost,
  onWatched,
}: SharedStreamOptions): SharedStream & Pick<OpenEventStream, 'check'> {
  let from = since();
  const startAt = () => {
    from = since();
    return from;
  };
  const stream = openEventStream({
    since: startAt,
    onMessage,
    onStalled,
    onSilent,
    onLost,
    onOpen: () => onOpen(from),
  });
  return { watch: onWatched, reopen: stream.reopen, check: stream.check, close: stream.close };
}

interface Leader {
  /** Tells the other tabs the state of the connection. */
  sendConnection(): void;
  reopen(): void;
  /** Makes sure that the connection is alive. */
  check(): void;
  stop(): void;
}

/** Holds the stream for all tabs: passes on its messages and the state of the connection. */
function beginLeading(options: SharedStreamOptions, channel: TabChannel, opened: () => void): Leader {
  let state: { connection: 'open' | 'lost'; since: number; isStalled: boolean; isSilent: boolean } = {
    connection: 'lost',
    since: options.since(),
    isStalled: false,
    isSilent: false,
  };
  const sendConnection = () => channel.post({ type: 'connection', ...state });
  channel.post({ type: 'who-watches' });
  const stream = openAlone({
    ...options,
    onMessage(message) {
      channel.post({ type: 'message', message });
      options.onMessage(message);
    },
    onOpen(since) {
      state = { ...state, connection: 'open', since };
      sendConnection();
      options.onOpen(since);
      opened();
    },
    onStalled(isStalled) {
      state = { ...state, isStalled };
      sendConnection();
      options.onStalled(isStalled);
    },
    onSilent(isSilent) {
      if (isSilent !== state.isSilent) {
        state = { ...state, isSilent };
        sendConnection();
      }
      options.onSilent(isSilent);
    },
    onLost(failures) {
      state = { ...state, connection: 'lost', since: options.since() };
      sendConnection();
      options.onLost(failures);
    },
  });
  return { sendConnection, reopen: stream.reopen, check: stream.check, stop: stream.close };
}

function openBetweenTabs(options: SharedStreamOptions): SharedStream {
  const tab = crypto.randomUUID();
  const watched = new Map<string, string[]>();
  let mine: string[] = [];
  let leader: Leader | undefined;
  let heardAt = 0;

  const channel: TabChannel = openTabChannel(CHANNEL, hear);
  const ping = () => channel.post({ type: 'ping', tab, stageIds: mine });
  const sendWatched = () => options.onWatched([...new Set([...watched.values(), mine].flat())]);

  function hear(message: TabMessage): void {
    if (message.type === 'ping') {
      watched.set(message.tab, message.stageIds);
      if (leader === undefined) return;
      sendWatched();
      leader.sendConnection();
      leader.check(); // this tab may be hidden, and its timers slow
      return;
    }
    heardAt = Date.now();
    if (message.type === 'message') options.onMessage(message.message);
    else if (message.type === 'who-watches') ping();
    else notifyOptions(message);
  }

  function notifyOptions({
    connection,
    since,
    isStalled = false,
    isSilent = false,
  }: TabMessage & { type: 'connection' }): void {
    options.onSilent(isSilent);
    if (connection === 'open') options.onOpen(since);
    else options.onLost(1);
    options.onStalled(isStalled);
  }

  const leadership = seekLeadership(() => {
    const mandate = beginLeading(options, channel, sendWatched);
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
      else sendWatched();
    },
    reopen: () => leader?.reopen(),
    close() {
      stopAsking();
      leadership.leave();
      channel.close();
    },
  };
}

/** A hidden tab may sleep. A visible one checks that its leader does not. */
function askRegularly(ask: () => void): () => void {
  const askIfVisible = () => document.visibilityState === 'visible' && ask();
  const timer = setInterval(askIfVisible, PING_MS);
  const unlisten = onReturn(askIfVisible);
  askIfVisible();
  return () => {
    clearInterval(timer);
    unlisten();
  };
}
