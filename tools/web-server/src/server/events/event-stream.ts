import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { BoardEvent, CommandReply } from '@callboard/contract';
import type { FastifyBaseLogger } from 'fastify';
import { OrchestratorUnreachable } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { toRawEvent } from '../orchestrator/raw-event.ts';
import { type EventText, HEARTBEAT, passingEvent, resyncEvent, storedEvent } from './sse.ts';

export interface EventStreamDeps {
  id: string;
  /** The response body; its head is already written. It closes with the connection. */
  out: Writable;
  /** The number of the last event that the client has; null to begin with the next one. */
  since: number | null;
  /**
   * Null: the stream lasts as long as its connection. Otherwise it ends with its first events, or after so long without any: a
   * proxy that holds back what it passes on lets go of a response that is complete.
   */
  waitMs: number | null;
  /** How often `heartbeat` will be called, for the client to know. */
  heartbeatMs: number;
  client: OrchestratorClient;
  /** A client that leaves more than this many bytes unread is disconnected. */
  maxUnreadBytes: number;
  log: FastifyBaseLogger;
}

/** One client's event stream: first the events that it missed, then live ones, each stored event once and in order. */
export interface EventStream {
  readonly id: string;
  readonly signal: AbortSignal;
  /** Writes live events, ascending, in one write; skips events that the stream has written or will fetch. */
  events(events: readonly EventText[]): void;
  /** Writes an event that is not stored. */
  pass(text: string): void;
  /** Tells the client to reload its state, and continues after the newest event. */
  resync(): void;
  heartbeat(): void;
  /** Ends the response gracefully. */
  end(): void;
}

const EVENTS_PER_PAGE = 500;
/** In characters. */
const PIECE_LENGTH = 64 * 1024;
const RETRY_MS = 1_000;
/** How long a stream that does not stay waits for the orchestrator, at least. */
const CATCH_UP_MS = 1_000;

/** A requested page of missed events. */
interface PageRequest {
  round: number;
  /** The newest event at the time of the request. */
  target: number;
  /** Null if the connection to the orchestrator was lost. */
  page: Promise<CommandReply<'get_events'> | null>;
}

/** Writes the first events of the stream and begins to catch up. The orchestrator must have been connected once. */
export function createEventStream(deps: EventStreamDeps): EventStream {
  const { id, out, since, waitMs, client, log } = deps;
  const { signal, write, notify, end } = createWriter(deps);
  const head = () => client.seq() ?? 0;
  let sent = since ?? head();
  let live = sent === head();
  /** Incremented when pages requested earlier no longer count. */
  let round = 0;

  function events(batch: readonly EventText[]): void {
    const fresh = live ? batch.filter(({ seq }) => seq > sent) : [];
    const last = fresh.at(-1);
    if (last === undefined) return;
    sent = last.seq;
    notify(fresh.map(({ text }) => text).join(''));
  }

  function resync(): void {
    round += 1;
    live = true;
    sent = head();
    notify(resyncEvent(sent));
  }

  /**
   * Reads pages until the stream has reached the live events. It turns live in the same tick as the comparison, so that no
   * event is missed in between. Waits for the client to read, so that a long replay needs no memory.
   */
  async function catchUp(): Promise<void> {
    let ahead: PageRequest | null = null;
    while (!live) {
      await client.whenReady(signal);
      const asked: PageRequest = ahead ?? requestPage(sent);
      ahead = null;
      const page = await asked.page;
      if (asked.round !== round || page === null) continue;
      if (page.resync) return resync();
      const before = sent;
      const fresh = page.events.filter(({ seq }) => seq > sent);
      const last = fresh.at(-1)?.seq ?? sent;
      if (last > before && last < head()) ahead = requestPage(last);
      await writePage(fresh, asked.round);
      if (asked.round !== round) continue;
      if (sent === before && sent < asked.target) return resync(); // the log lacks events that it should have
      live = sent >= head();
    }
  }

  /** Only one page is requested while the previous one is written: a client that reads slowly holds two. */
  function requestPage(seq: number): PageRequest {
    return { round, target: head(), page: fetchPage(client, seq, signal) };
  }

  /** Writes a page in pieces of a useful size. Returns early if the page no longer counts. */
  async function writePage(events: readonly BoardEvent[], mine: number): Promise<void> {
    let piece = '';
    for (const [index, event] of events.entries()) {
      piece += storedEvent(toRawEvent(event));
      if (piece.length < PIECE_LENGTH && index < events.length - 1) continue;
      sent = event.seq;
      if (!write(piece)) await once(out, 'drain', { signal });
      if (mine !== round) return;
      piece = '';
    }
  }

  function failed(error: unknown): void {
    if (signal.aborted) return;
    log.error({ err: error, streamId: id }, 'an event stream failed to catch up');
    out.destroy(); // the client reconnects and replays
  }

  greet(write, { id, seq: sent, heartbeatMs: deps.heartbeatMs, client });
  const begun = sent;
  catchUp().then(() => (sent !== begun || waitMs === 0) && notify(''), failed);

  return {
    id,
    signal,
    events,
    pass: (text) => void write(text),
    resync,
    heartbeat: () => void (out.writableNeedDrain || write(HEARTBEAT)),
    end,
  };
}

/**
 * Writes the first events of a stream. The number is the client's own, even if it is ahead of the newest event known here: it
 * may have come from the web server of another machine, whose orchestrator was told sooner.
 */
function greet(
  write: (text: string) => boolean,
  { id, seq, heartbeatMs, client }: { id: string; seq: number; heartbeatMs: number; client: OrchestratorClient },
): void {
  write(`retry: ${RETRY_MS}\n${passingEvent('stream', { streamId: id, seq, heartbeatMs })}`);
  write(passingEvent('orchestrator-status', { status: client.status() }));
  const notices = client.notices();
  if (notices !== null) write(passingEvent('notices-updated', notices));
}

/** Writes whole events to the response; disconnects a client that leaves too much unread. */
function createWriter({ id, out, waitMs, maxUnreadBytes, log }: EventStreamDeps) {
  const gone = new AbortController();
  if (out.destroyed) gone.abort();
  out.once('close', () => gone.abort());
  out.on('error', () => gone.abort());

  function write(text: string): boolean {
    if (gone.signal.aborted) return false;
    if (out.writableLength > maxUnreadBytes) {
      log.info({ streamId: id, unread: out.writableLength }, 'disconnected a client that reads too slowly');
      out.destroy();
      gone.abort();
      return false;
    }
    return out.write(text);
  }

  function end(): void {
    if (gone.signal.aborted) return;
    out.end(() => out.destroy());
    gone.abort();
  }

  if (waitMs !== null) {
    const timer = setTimeout(end, Math.max(waitMs, CATCH_UP_MS));
    gone.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }

  return {
    /** Aborts when the connection has closed. */
    signal: gone.signal,
    /** Returns whether the client can take more at once. */
    write,
    /** Writes news. A stream that does not stay ends with them, and with what else happens in the same moment. */
    notify(text: string): void {
      write(text);
      if (waitMs !== null) setImmediate(end);
    },
    end,
  };
}

/** Resolves with null if the connection to the orchestrator was lost. */
function fetchPage(client: OrchestratorClient, since: number, signal: AbortSignal): PageRequest['page'] {
  const page = client.send('get_events', { since, limit: EVENTS_PER_PAGE }, { signal }).catch(nullIfUnreachable);
  page.catch(() => undefined); // the client may be gone before the page is awaited
  return page;
}

/** After a lost connection the caller waits for the next one. */
function nullIfUnreachable(error: unknown): null {
  if (error instanceof OrchestratorUnreachable) return null;
  throw error;
}
