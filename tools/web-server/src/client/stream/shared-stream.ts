import { type RawMessage, TransportError } from '@callboard/contract/client';
import { createBackoff, untilAborted } from '@callboard/runtime/waits';
import { client, isLoggedOut } from '../lib/api-client.ts';

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

export interface EventStreamOptions {
  /** Returns the newest known `seq`. Called before each connection. */
  since: () => number;
  onMessage: (message: RawMessage) => void;
  onOpen: () => void;
  /** A proxy holds the stream back, and polls take its place; or no longer. */
  onStalled: (isStalled: boolean) => void;
  /** Nothing at all comes from the server, as far as this is known; or something does again. */
  onSilent: (isSilent: boolean) => void;
  /** The connection is gone; it is retried. `failures` counts the attempts in a row. */
  onLost: (failures: number) => void;
}

export interface OpenEventStream {
  /** Ends this connection and opens another at once, if there is one: `onLost(0)`, then `onOpen`. */
  reopen(): void;
  /** Opens another connection unless this one has brought something just now: the device may have slept, or changed its network. */
  check(): void;
  close(): void;
}

const BACKOFF = { firstMs: 250, maxMs: 1_000 };
/** Longer than from one heartbeat to the next. */
const QUIET_MS = 3_000;

/**
 * Reads the event stream, and reconnects until closed. It uses `fetch` because a page proves itself in a header, which
 * the browser's own `EventSource` cannot send.
 */
function openEventStream({
  since,
  onMessage,
  onOpen,
  onStalled,
  onSilent,
  onLost,
}: EventStreamOptions): OpenEventStream {
  let connection: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const backoff = createBackoff(BACKOFF);
  let failures = 0;
  /** The last connection was lost, or is held up: the next one polls from its beginning. */
  let isSuspect = false;
  const heard = createStopwatch();

  function connect(): void {
    clearTimeout(timer);
    connection?.abort();
    const current = new AbortController();
    connection = current;
    read(current).then(
      () => lost(current),
      (error: unknown) => lost(current, error),
    );
  }

  /** Resolves when the server ends the stream. */
  async function read(current: AbortController): Promise<void> {
    try {
      const messages = client.stream({
        since: since(),
        signal: current.signal,
        isSuspect,
        onOpen: () => opened(current),
        onStalled: (isStalled) => stalled(current, isStalled),
        onBytes: heard.restart,
      });
      for await (const message of messages) {
        if (current !== connection) return;
        onMessage(message);
      }
    } finally {
      current.abort();
    }
  }

  function opened(current: AbortController): void {
    if (current !== connection) return;
    failures = 0;
    backoff.reset();
    onSilent(false);
    onOpen();
  }

  function stalled(current: AbortController, isStalled: boolean): void {
    if (current !== connection) return;
    isSuspect = isStalled;
    onStalled(isStalled);
  }

  function lost(current: AbortController, error?: unknown): void {
    if (current !== connection) return;
    if (error instanceof TransportError) {
      const isSilent = error.code === 'network';
      isSuspect ||= isSilent;
      onSilent(isSilent);
    }
    // If the login has ended, the board should find out at once.
    failures += isLoggedOut(error) ? 2 : 1;
    timer = setTimeout(connect, backoff.next());
    onLost(failures);
  }

  function check(): void {
    if (connection === undefined || (failures === 0 && heard.elapsedMs() < QUIET_MS)) return;
    isSuspect = true;
    onSilent(true);
    heard.restart();
    connect();
  }
  const unlisten = onReturn(check);
  connect();
  return {
    reopen() {
      if (connection === undefined || failures > 0) return; // closed, or about to be opened anyway
      onLost(0);
      connect();
    },
    check,
    close() {
      const last = connection;
      connection = undefined;
      clearTimeout(timer);
      last?.abort();
      unlisten();
    },
  };
}

/** Calls when the page is looked at again, or the network is back. Returns how to stop. */
function onReturn(call: () => void): () => void {
  const ifVisible = () => {
    if (document.visibilityState === 'visible') call();
  };
  window.addEventListener('online', call);
  window.addEventListener('pageshow', call);
  document.addEventListener('visibilitychange', ifVisible);
  return () => {
    window.removeEventListener('online', call);
    window.removeEventListener('pageshow', call);
    document.removeEventListener('visibilitychange', ifVisible);
  };
}

/** Of the time of day, which goes on while a device sleeps. */
function createStopwatch() {
  let since = Date.now();
  return {
    restart: (): void => {
      since = Date.now();
    },
    elapsedMs: (): number => Date.now() - since,
  };
}

const LOCK = 'callboard-event-stream-2';

export interface Leadership {
  /** Takes over from a leader that does not answer. */
  takeOver(): void;
  /** Gives up leadership for good. */
  leave(): void;
}

/**
 * Makes exactly one tab of the browser the leader; when it closes, another takes over. `lead` is called when this tab
 * becomes the leader, and the function it returns when the tab stops leading.
 */
export function seekLeadership(lead: () => () => void, locks: LockManager = navigator.locks): Leadership {
  const left = new AbortController();
  let leading = false;

  async function seek(options: LockOptions): Promise<void> {
    let stopLeading: (() => void) | undefined;
    try {
      await locks.request(LOCK, options, async () => {
        leading = true;
        stopLeading = lead();
        await untilAborted(left.signal);
      });
    } catch {
      // Another tab took the lock, or this one leaves.
    }
    leading = false;
    stopLeading?.();
    if (!left.signal.aborted) void seek({ signal: left.signal });
  }

  void seek({ signal: left.signal });
  return {
    takeOver() {
      if (!leading) void seek({ steal: true });
    },
    leave: () => left.abort(),
  };
}

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

function openTabChannel(name: string, onMessage: (message: TabMessage) => void): TabChannel {
  const channel = new BroadcastChannel(name);
  // Only pages of this origin and version post here.
  channel.onmessage = (event: MessageEvent<TabMessage>) => onMessage(event.data);
  return { post: (message) => channel.postMessage(message), close: () => channel.close() };
}

const tabsCanShare = (): boolean =>
  typeof BroadcastChannel !== 'undefined' && typeof navigator.locks?.request === 'function';
