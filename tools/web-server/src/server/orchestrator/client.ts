import {
  type BoardNotices,
  type CommandInput,
  type CommandReply,
  type CommandType,
  type Credential,
  commands,
  type Idempotency,
  type Peer,
  REPLY_LIMITS_MS,
  type SessionNowUpdate,
  type TextDelta,
  timeOf,
} from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import { createBackoff, orAborted, untilAborted } from '@callboard/runtime/waits';
import type { FastifyBaseLogger } from 'fastify';
import { OrchestratorUnreachable, ProtocolError } from '../errors.ts';
import {
  type Connection,
  checkEvent,
  type InitHead,
  NOT_CONNECTED,
  openConnection,
  type RawEvent,
  type RawEventFrame,
  toRawEvent,
} from './connection.ts';

export type OrchestratorStatus = 'ready' | 'unreachable';

/** Called synchronously, in order; must not throw. */
interface OrchestratorListener {
  /** Every event once, by ascending `seq`, across reconnects. */
  event?: (event: RawEvent) => void;
  /** Some events up to `seq()` were skipped because they could not be fetched. */
  resync?: () => void;
  textDelta?: (delta: TextDelta) => void;
  sessionNow?: (update: SessionNowUpdate) => void;
  /** The notices have changed, or this is the first frame of a new connection. */
  notices?: (notices: BoardNotices) => void;
  status?: (status: OrchestratorStatus) => void;
}

interface SendOptions {
  /** The sender's; the orchestrator checks it. */
  credential?: Credential;
  /** Where the sender is. */
  peer?: Peer | undefined;
  idempotency?: Idempotency | undefined;
  /** Ends the wait; a command that was sent may be carried out all the same. */
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface OrchestratorClient {
  /**
   * Sends a command and waits for its reply. Rejects with Rejection or OperationalError if the orchestrator refuses it;
   * with OrchestratorUnreachable at once if there is no connection; with `reply_lost` if it ends before the reply (the command may
   * have been applied: it is never repeated); and after the time limit with `no_confirmation`, or for a read with
   * OrchestratorUnreachable in both cases.
   */
  send<T extends CommandType>(type: T, input: CommandInput<T>, options?: SendOptions): Promise<CommandReply<T>>;
  /** Returns a function that unsubscribes. */
  listen(listener: OrchestratorListener): () => void;
  status(): OrchestratorStatus;
  /** Resolves once commands can be sent; rejects when the signal aborts. */
  whenReady(signal: AbortSignal): Promise<void>;
  /** The number of the newest event that listeners got; null until the first connection. */
  seq(): number | null;
  /** The board's notices, as last known; null until the first connection. */
  notices(): BoardNotices | null;
  /** The orchestrator's versions; null while it is unreachable. */
  about(): { version: string; protocol: number } | null;
  close(): Promise<void>;
}

export interface OrchestratorClientDeps {
  /** It may be known only once the orchestrator is up. If it rejects, no connection is ever made. */
  url: string | Promise<string>;
  secret: string;
  log: FastifyBaseLogger;
  heartbeatMs?: number;
  /** The longest pause between two attempts to connect. */
  maxBackoffMs?: number;
}

const FIRST_BACKOFF_MS = 50;
const EVENTS_PER_PAGE = 500;

/** Keeps one connection to the orchestrator until `close`. Starts to connect at once. */
export function createOrchestratorClient(deps: OrchestratorClientDeps): OrchestratorClient {
  const { url, secret, log, heartbeatMs = 5_000, maxBackoffMs = 1_000 } = deps;
  const calls = createEmitter<(listener: OrchestratorListener) => void>();
  let current: Current | null = null;
  let notices: BoardNotices | null = null;

  const feed = createEventFeed({
    async fetchPage(since) {
      const { events, resync } = await send('get_events', { since, limit: EVENTS_PER_PAGE });
      return { events: events.map(toRawEvent), resync };
    },
    emit: (event) => calls.emit((listener) => listener.event?.(event)),
    resync: () => calls.emit((listener) => listener.resync?.()),
    log,
  });

  function onEvent(frame: RawEventFrame): void {
    const event = checkEvent(frame);
    if (event === null) log.error({ type: frame.type, seq: frame.seq }, 'an event breaks the contract');
    feed.take(frame.seq, event);
  }

  function onNotices(now: BoardNotices): void {
    notices = now;
    calls.emit((listener) => listener.notices?.(now));
  }

  function open(at: string): Connection {
    const onInit = (head: InitHead) => {
      current = { connection, head };
      log.info({ version: head.version, seq: head.seq }, 'orchestrator connected');
      feed.begin(head.seq);
      calls.emit((listener) => listener.status?.('ready'));
      onNotices(head.data);
    };
    const textDelta = (delta: TextDelta) => calls.emit((listener) => listener.textDelta?.(delta));
    const sessionNow = (update: SessionNowUpdate) => calls.emit((listener) => listener.sessionNow?.(update));
    const handlers = { init: onInit, event: onEvent, notices: onNotices, textDelta, sessionNow };
    const connection = openConnection({ url: at, secret, heartbeatMs, handlers });
    return connection;
  }

  function onEnded(): void {
    const wasReady = current !== null;
    current = null;
    if (wasReady) calls.emit((listener) => listener.status?.('unreachable'));
  }

  const send: OrchestratorClient['send'] = (type, input, options = {}) => sendOn(current, type, input, options);

  const listen = (listener: OrchestratorListener) => calls.subscribe((call) => call(listener));

  const close = stayConnected({ url, maxBackoffMs, log, open, isReady: () => current !== null, onEnded });
  return {
    send,
    listen,
    whenReady: (signal) => untilReady(() => current !== null, listen, signal),
    status: () => (current === null ? 'unreachable' : 'ready'),
    seq: feed.seq,
    notices: () => notices,
    about: () => (current === null ? null : { version: current.head.version, protocol: current.head.protocol }),
    close,
  };
}

interface Current {
  connection: Connection;
  /** What the orchestrator said of itself. */
  head: InitHead;
}

/** See `OrchestratorClient.send`. */
async function sendOn<T extends CommandType>(
  current: Current | null,
  type: T,
  input: CommandInput<T>,
  { credential, peer, idempotency, signal, timeoutMs = REPLY_LIMITS_MS[timeOf(type)] }: SendOptions,
): Promise<CommandReply<T>> {
  if (current === null) throw new OrchestratorUnreachable(NOT_CONNECTED);
  const isRead = timeOf(type) === 'read';
  const options = { credential, peer, idempotency, signal, timeoutMs, isRead };
  const data = await current.connection.request(type, input, options);
  const reply = commands[type].reply.safeParse(data);
  if (!reply.success) throw new ProtocolError(`the reply to ${type} breaks the contract`, { cause: reply.error });
  return reply.data as CommandReply<T>; // the schema was looked up by T
}

async function untilReady(
  isReady: () => boolean,
  listen: OrchestratorClient['listen'],
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  if (isReady()) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unlisten = listen({ status: (status) => status === 'ready' && resolve() });
  await orAborted(promise, signal).finally(unlisten);
}

interface ReconnectOptions extends Pick<OrchestratorClientDeps, 'url' | 'log'> {
  maxBackoffMs: number;
  open: (url: string) => Connection;
  /** Whether the connection that was opened last has had its first frame. */
  isReady: () => boolean;
  onEnded: () => void;
}

/** Opens one connection after the other, with growing pauses between failures. Returns a function that stops. */
function stayConnected(deps: ReconnectOptions): () => Promise<void> {
  const { url, maxBackoffMs, log, open, isReady, onEnded } = deps;
  const stopping = new AbortController();
  let lastReason = '';

  /** Resolves when the connection has ended, with whether it was ready. */
  async function connectOnce(at: string): Promise<boolean> {
    const connection = open(at);
    const onStop = () => connection.close();
    stopping.signal.addEventListener('abort', onStop, { once: true });
    const reason = await connection.ended;
    stopping.signal.removeEventListener('abort', onStop);
    const wasReady = isReady();
    const isUpdate = wasReady || reason !== lastReason; // the same failure is logged once
    if (!stopping.signal.aborted && isUpdate) log.warn({ reason }, 'orchestrator unreachable');
    lastReason = reason;
    onEnded();
    return wasReady;
  }

  async function run(): Promise<void> {
    const stopped = untilAborted(stopping.signal).then(() => null);
    const at = await Promise.race([url, stopped]);
    if (at === null) return;
    const backoff = createBackoff({ firstMs: FIRST_BACKOFF_MS, maxMs: maxBackoffMs });
    while (!stopping.signal.aborted) {
      if (await connectOnce(at)) backoff.reset();
      await backoff.wait(stopping.signal);
    }
  }

  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}

interface EventPage<E> {
  events: readonly E[];
  resync: boolean;
}

export interface EventFeedOptions<E> {
  /** The stored events after `since`, ascending, at most a page of them. */
  fetchPage: (since: number) => Promise<EventPage<E>>;
  emit: (event: E) => void;
  /** Some events up to `seq()` cannot be fetched: whatever follows from them must be loaded anew. */
  resync: () => void;
  log: FastifyBaseLogger;
}

/**
 * Brings the events of many connections into one order: emits each once, by ascending `seq`. Missing events (after a
 * reconnect, or between two live events) are fetched before anything newer is emitted. Live events that arrive
 * meanwhile are dropped, since the fetch goes on until it has reached them.
 */
export function createEventFeed<E extends { seq: number }>({ fetchPage, emit, resync, log }: EventFeedOptions<E>) {
  let last: number | null = null;
  /** The newest number known to exist. */
  let newest = 0;
  let fetching = false;
  /** Raised by whatever makes a running fetch pointless. */
  let round = 0;

  function deliver(event: E): void {
    last = event.seq;
    emit(event);
  }

  function skipTo(seq: number): void {
    last = seq;
    resync();
  }

  /** A connection has started; its state is true at `seq`. */
  function begin(seq: number): void {
    round += 1;
    fetching = false;
    newest = seq;
    if (last === null) last = seq;
    else if (seq < last) skipTo(seq);
    else if (seq > last) void closeGap(last);
  }

  /** Takes a live event; null if it has a number but cannot be read. */
  function take(seq: number, event: E | null): void {
    if (last === null) return;
    newest = Math.max(newest, seq);
    if (seq <= last || fetching) return;
    if (seq > last + 1) void closeGap(last);
    else if (event === null) skipTo(seq);
    else deliver(event);
  }

  async function closeGap(from: number): Promise<void> {
    round += 1;
    const mine = round;
    fetching = true;
    let reached = from;
    try {
      while (reached < newest) {
        const target = newest;
        const page = await fetchPage(reached);
        if (mine !== round) return;
        if (page.resync) skipTo(target);
        for (const event of page.events) if (event.seq > reached && !page.resync) deliver(event);
        if (last === reached) skipTo(target); // the log does not hold what it should
        reached = last ?? target;
      }
    } catch (error) {
      if (mine !== round || error instanceof OrchestratorUnreachable) return; // the next connection starts over
      log.error({ err: error, from: reached, to: newest }, 'missed events could not be fetched');
      skipTo(newest);
    } finally {
      if (mine === round) fetching = false;
    }
  }

  return {
    begin,
    take,
    /** The number of the newest emitted event; null until the first connection. */
    seq: (): number | null => last,
  };
}
