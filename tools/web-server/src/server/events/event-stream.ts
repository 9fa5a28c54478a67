import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { BoardEvent, CommandReply } from '@callboard/contract';
import type { FastifyBaseLogger } from 'fastify';
import { OrchestratorUnreachable } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { toldFrom } from '../orchestrator/told-event.ts';
import { type EventText, HEARTBEAT, passingEvent, resyncEvent, storedEvent } from './sse.ts';

export interface EventStreamParts {
  id: string;
  /** What follows the head of the response, which is already written; it ends with the connection. */
  out: Writable;
  /** The number of the last event that the client has; null when it begins with the next one. */
  since: number | null;
  client: OrchestratorClient;
  /** A client that leaves more than this many bytes unread is cut off. */
  maxUnreadBytes: number;
  log: FastifyBaseLogger;
}

/** One client's stream of events: first what it missed, then what happens, each stored event once and in order. */
export interface EventStream {
  readonly id: string;
  readonly signal: AbortSignal;
  /** Passes on live events, ascending, in one write; those that the stream has, or will fetch, are left out. */
  events(events: readonly EventText[]): void;
  /** Writes an event that is not stored. */
  pass(text: string): void;
  /** Tells the client to load anew what it knows, and goes on after the newest event. */
  resync(): void;
  heartbeat(): void;
  /** Ends the response in good order. */
  end(): void;
}

const EVENTS_PER_PAGE = 500;
/** In characters. */
const PIECE_LENGTH = 64 * 1024;
const RETRY_MS = 1_000;

/** A page that was asked for. */
interface Asked {
  round: number;
  /** The newest event when it was asked for. */
  target: number;
  /** Null: the connection went with it. */
  page: Promise<CommandReply<'get_events'> | null>;
}

/** Writes the head of the stream and begins to catch up. The orchestrator must have been reached once. */
export function createEventStream(parts: EventStreamParts): EventStream {
  const { id, out, since, client, maxUnreadBytes, log } = parts;
  const gone = new AbortController();
  const head = () => client.seq() ?? 0;
  let sent = since ?? head();
  let live = sent === head();
  /** Raised when a page under way no longer counts. */
  let round = 0;

  if (out.destroyed) gone.abort();
  out.once('close', () => gone.abort());
  out.on('error', () => gone.abort());

  /** Writes one whole event, or cuts the client off. True when it can take more at once. */
  function write(text: string): boolean {
    if (gone.signal.aborted) return false;
    if (out.writableLength > maxUnreadBytes) {
      log.info({ streamId: id, unread: out.writableLength }, 'a client that reads too slowly was cut off');
      out.destroy();
      gone.abort();
      return false;
    }
    return out.write(text);
  }

  function events(batch: readonly EventText[]): void {
    const fresh = live ? batch.filter(({ seq }) => seq > sent) : [];
    const last = fresh.at(-1);
    if (last === undefined) return;
    sent = last.seq;
    write(fresh.map(({ text }) => text).join(''));
  }

  function resync(): void {
    round += 1;
    live = true;
    sent = head();
    write(resyncEvent(sent));
  }

  /**
   * Reads pages until the stream is where the live events are; the step to live is taken in the same tick as the
   * comparison, so that no event can fall between. Waits for the client to read, so that a long replay needs no memory.
   */
  async function catchUp(): Promise<void> {
    let ahead: Asked | null = null;
    while (!live) {
      await client.whenReady(gone.signal);
      const asked: Asked = ahead ?? askAfter(sent);
      ahead = null;
      const page = await asked.page;
      if (asked.round !== round || page === null) continue;
      if (page.resync) return resync();
      const before = sent;
      const fresh = page.events.filter(({ seq }) => seq > sent);
      const last = fresh.at(-1)?.seq ?? sent;
      if (last > before && last < head()) ahead = askAfter(last);
      await writePage(fresh, asked.round);
      if (asked.round !== round) continue;
      if (sent === before && sent < asked.target) return resync(); // the log does not hold what it should
      live = sent >= head();
    }
  }

  /** One page is asked for while the one before is written, and no more: a client that reads slowly holds two. */
  function askAfter(seq: number): Asked {
    const page = client
      .send('get_events', { since: seq, limit: EVENTS_PER_PAGE }, { signal: gone.signal })
      .catch(whileUnreachable);
    page.catch(() => undefined); // the client may be gone before it is looked at
    return { round, target: head(), page };
  }

  /** In pieces that are worth a write each. Ends early where the page no longer counts. */
  async function writePage(events: readonly BoardEvent[], mine: number): Promise<void> {
    let piece = '';
    for (const [index, event] of events.entries()) {
      piece += storedEvent(toldFrom(event));
      if (piece.length < PIECE_LENGTH && index < events.length - 1) continue;
      sent = event.seq;
      if (!write(piece)) await once(out, 'drain', { signal: gone.signal });
      if (mine !== round) return;
      piece = '';
    }
  }

  function failed(error: unknown): void {
    if (gone.signal.aborted) return;
    log.error({ err: error, streamId: id }, 'a stream could not catch up');
    out.destroy(); // the client comes back by replay
  }

  // A client that is ahead of us is told to load anew, and goes on after the newest.
  write(`retry: ${RETRY_MS}\n${passingEvent('stream', { streamId: id, seq: Math.min(sent, head()) })}`);
  write(passingEvent('orchestrator-status', { status: client.status() }));
  const notices = client.notices();
  if (notices !== null) write(passingEvent('notices-updated', notices));
  catchUp().catch(failed);

  return {
    id,
    signal: gone.signal,
    events,
    pass: (text) => void write(text),
    resync,
    heartbeat() {
      if (!out.writableNeedDrain) write(HEARTBEAT);
    },
    end() {
      out.end(() => out.destroy());
      gone.abort();
    },
  };
}

/** A page that the connection took with it: the next connection is waited for. */
function whileUnreachable(error: unknown): null {
  if (error instanceof OrchestratorUnreachable) return null;
  throw error;
}
