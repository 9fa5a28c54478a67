import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BoardNotices,
  type CommandInput,
  type CommandReply,
  type CommandType,
  type Credential,
  commands,
  REPLY_LIMITS_MS,
  type TextDelta,
  timeOf,
} from '@callboard/contract';
import type { FastifyBaseLogger } from 'fastify';
import { OrchestratorUnreachable, ProtocolError } from '../errors.ts';
import { type Connection, type InitHead, NOT_CONNECTED, openConnection } from './connection.ts';
import { createEventFeed } from './event-feed.ts';
import { type EventFrameText, type ToldEvent, toldEvent, toldFrom } from './told-event.ts';

export type OrchestratorStatus = 'ready' | 'unreachable';

/** Called synchronously, in order; must not throw. */
interface OrchestratorListener {
  /** Every event once, by ascending `seq`, across reconnects. */
  event?: (event: ToldEvent) => void;
  /** Events up to `seq()` were passed over because they could not be had. */
  resync?: () => void;
  textDelta?: (delta: TextDelta) => void;
  /** What the board says of the machine has changed, or is known for the first time on a new connection. */
  notices?: (notices: BoardNotices) => void;
  status?: (status: OrchestratorStatus) => void;
}

interface SendOptions {
  /** Of whoever gives the command; the orchestrator checks it. */
  credential?: Credential;
  /** Ends the waiting; a command that was sent may be carried out all the same. */
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface OrchestratorClient {
  /**
   * Gives a command and waits for its reply. Rejects with Rejection or OperationalError as the orchestrator refused
   * it, with OrchestratorUnreachable at once when there is no connection and when it ends before the reply (the
   * command may have been applied: it is never repeated), and after the time limit with `no_confirmation`, or, where
   * it was only to be read, with OrchestratorUnreachable.
   */
  send<T extends CommandType>(type: T, input: CommandInput<T>, options?: SendOptions): Promise<CommandReply<T>>;
  /** Returns how to stop listening. */
  listen(listener: OrchestratorListener): () => void;
  status(): OrchestratorStatus;
  /** Resolves when commands can be given; rejects when the signal aborts. */
  whenReady(signal: AbortSignal): Promise<void>;
  /** The number of the newest event that listeners have seen; null until the first connection. */
  seq(): number | null;
  /** What the board says of the machine, as it was last known; null until the first connection. */
  notices(): BoardNotices | null;
  /** What the orchestrator said of itself; null while unreachable. */
  about(): { version: string; protocol: number } | null;
  close(): Promise<void>;
}

export interface OrchestratorClientParts {
  /** It may be known only once the orchestrator is up. One that rejects is never connected to. */
  url: string | Promise<string>;
  secret: string;
  log: FastifyBaseLogger;
  heartbeatMs?: number;
  /** The longest pause between two attempts to connect. */
  maxBackoffMs?: number;
}

const FIRST_BACKOFF_MS = 50;
const EVENTS_PER_PAGE = 500;

/** Keeps one connection to the orchestrator, for ever, until `close`. Connecting begins at once. */
export function createOrchestratorClient(parts: OrchestratorClientParts): OrchestratorClient {
  const { url, secret, log, heartbeatMs = 5_000, maxBackoffMs = 1_000 } = parts;
  const listeners = new Set<OrchestratorListener>();
  const stopping = new AbortController();
  let current: { connection: Connection; head: InitHead } | null = null;
  let notices: BoardNotices | null = null;
  let lastReason = '';

  const feed = createEventFeed({
    async fetchPage(since) {
      const { events, resync } = await send('get_events', { since, limit: EVENTS_PER_PAGE });
      return { events: events.map(toldFrom), resync };
    },
    emit: (event) => tell((listener) => listener.event?.(event)),
    resync: () => tell((listener) => listener.resync?.()),
    log,
  });

  function tell(call: (listener: OrchestratorListener) => void): void {
    for (const listener of [...listeners]) call(listener);
  }

  function onEvent(frame: EventFrameText): void {
    const event = toldEvent(frame);
    if (event === null) log.error({ type: frame.type, seq: frame.seq }, 'an event breaks the contract');
    feed.take(frame.seq, event);
  }

  function onNotices(now: BoardNotices): void {
    notices = now;
    tell((listener) => listener.notices?.(now));
  }

  /** Resolves when the connection has ended, with whether it had been ready. */
  async function connectOnce(at: string): Promise<boolean> {
    let wasReady = false;
    const connection = openConnection({
      url: at,
      secret,
      heartbeatMs,
      handlers: {
        init(head) {
          current = { connection, head };
          wasReady = true;
          lastReason = '';
          log.info({ version: head.version, seq: head.seq }, 'orchestrator connected');
          feed.begin(head.seq);
          tell((listener) => listener.status?.('ready'));
          onNotices(head.data);
        },
        event: onEvent,
        notices: onNotices,
        textDelta: (delta) => tell((listener) => listener.textDelta?.(delta)),
      },
    });
    const onStop = () => connection.close();
    stopping.signal.addEventListener('abort', onStop, { once: true });
    const reason = await connection.ended;
    stopping.signal.removeEventListener('abort', onStop);
    current = null;
    if (!stopping.signal.aborted && reason !== lastReason) log.warn({ reason }, 'orchestrator unreachable');
    lastReason = reason;
    if (wasReady) tell((listener) => listener.status?.('unreachable'));
    return wasReady;
  }

  async function run(): Promise<void> {
    const stopped = once(stopping.signal, 'abort').then(() => null);
    const at = await Promise.race([url, stopped]);
    if (at === null) return;
    let pause = FIRST_BACKOFF_MS;
    while (!stopping.signal.aborted) {
      const wasReady = await connectOnce(at);
      pause = wasReady ? FIRST_BACKOFF_MS : Math.min(pause * 2, maxBackoffMs);
      await sleep(pause, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  async function send<T extends CommandType>(
    type: T,
    input: CommandInput<T>,
    { credential, signal, timeoutMs = REPLY_LIMITS_MS[timeOf(type)] }: SendOptions = {},
  ): Promise<CommandReply<T>> {
    if (current === null) throw new OrchestratorUnreachable(NOT_CONNECTED);
    const isRead = timeOf(type) === 'read';
    const data = await current.connection.request(type, input, { credential, signal, timeoutMs, isRead });
    const reply = commands[type].reply.safeParse(data);
    if (!reply.success) throw new ProtocolError(`the reply to ${type} breaks the contract`, { cause: reply.error });
    return reply.data as CommandReply<T>; // the schema was looked up by T
  }

  function listen(listener: OrchestratorListener): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  async function whenReady(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (current !== null) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const unlisten = listen({ status: (status) => status === 'ready' && resolve() });
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    await promise.finally(() => {
      unlisten();
      signal.removeEventListener('abort', onAbort);
    });
  }

  const running = run();
  return {
    send,
    listen,
    whenReady,
    status: () => (current === null ? 'unreachable' : 'ready'),
    seq: feed.seq,
    notices: () => notices,
    about: () => (current === null ? null : { version: current.head.version, protocol: current.head.protocol }),
    async close() {
      stopping.abort();
      await running;
    },
  };
}
