import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { type BoardEvent, type CommandReply, eventData, type StageId } from '@callboard/contract';
import { mark } from '@callboard/runtime/marks';
import type { FastifyBaseLogger } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { OrchestratorUnreachable, Rejection } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { NOT_CONNECTED, type RawEvent, toRawEvent } from '../orchestrator/connection.ts';

/** The login that a stream belongs to. */
export interface StreamOwner {
  /** The same for all streams of one credential. */
  key: string;
  /** Null for an API token. */
  loginId: string | null;
  /** Whether the login is still valid; checked once in a while. */
  stillAllowed: () => Promise<boolean>;
}

/** Where a stream begins and ends. */
export type StreamStart = Pick<EventStreamDeps, 'since' | 'waitMs'>;

export interface EventHub {
  /** Throws `OrchestratorUnreachable` while no stream can begin. */
  requireReady(): void;
  /** Throws `too_many_streams` if the credential has reached its limit of streams. */
  requireRoom(ownerKey: string, max: number): void;
  /** Begins a stream on a response whose head is written, until the response closes. */
  join(out: Writable, start: StreamStart, owner: StreamOwner): void;
  /**
   * Sets the stages whose text deltas this stream gets. Resolves once the orchestrator knows them; while it is unreachable,
   * they are kept and sent with the next connection. Rejects with `not_found` if the stream is not open, or not this owner's.
   */
  watch(streamId: string, stageIds: readonly StageId[], ownerKey: string): Promise<void>;
  /** How many streams are open. */
  openStreams(): number;
  endAll(): void;
  /** Ends all streams and stops listening. */
  close(): void;
}

export interface EventHubDeps {
  client: OrchestratorClient;
  log: FastifyBaseLogger;
  heartbeatMs: number;
  /** How often each stream's login is checked. */
  loginCheckMs: number;
  maxUnreadBytes: number;
}

interface Member {
  stream: EventStream;
  owner: StreamOwner;
  watched: ReadonlySet<StageId>;
}

const LoginEnded = eventData['login-ended'];
/** The limit of one `watch` command. */
const MAX_WATCHED = 1_000;
/** How many ended logins are remembered: a stream that is just being opened for one of them ends as well. */
const MAX_ENDED = 1_000;

/** Distributes the orchestrator's events to the clients' streams. */
export function createEventHub({ client, log, heartbeatMs, loginCheckMs, maxUnreadBytes }: EventHubDeps): EventHub {
  const members = new Map<string, Member>();
  const endedLogins = createRecentSet(MAX_ENDED);
  const watching = createWatching({ client, log }, () => [...members.values()].flatMap(({ watched }) => [...watched]));

  function each(call: (stream: EventStream) => void): void {
    for (const { stream } of [...members.values()]) call(stream);
  }

  const batch = createBatch((texts) => each((stream) => stream.events(texts)));

  /** Writes it after the events that arrived before it. */
  function passToAll(text: string): void {
    batch.flush();
    each((stream) => stream.pass(text));
  }

  const nows = createTexts(passToAll);
  const unlisten = client.listen({
    event(event) {
      if (event.type === 'login-ended') endLogin(LoginEnded.parse(JSON.parse(event.data)).loginId);
      if (members.size > 0) batch.add(event);
    },
    resync() {
      batch.flush();
      each((stream) => stream.resync());
    },
    textDelta(delta) {
      batch.flush();
      const text = passingEvent('text-delta', delta);
      for (const { stream, watched } of [...members.values()]) if (watched.has(delta.stageId)) stream.pass(text);
    },
    sessionNow: (update) => nows.add(passingEvent('session-now', update)),
    notices: (notices) => passToAll(passingEvent('notices-updated', notices)),
    status(status) {
      passToAll(passingEvent('orchestrator-status', { status }));
      if (status === 'ready') watching.repeat(); // a new connection knows nothing
    },
  });

  const heartbeat = setInterval(() => each((stream) => stream.heartbeat()), heartbeatMs).unref();
  const loginCheck = setInterval(() => [...members.values()].forEach(endIfLoggedOut), loginCheckMs).unref();

  function endLogin(loginId: string): void {
    endedLogins.add(loginId);
    for (const { stream, owner } of [...members.values()]) if (owner.loginId === loginId) stream.end();
  }

  function join(out: Writable, { since, waitMs }: StreamStart, owner: StreamOwner): void {
    const stream = createEventStream({ id: uuidv7(), out, since, waitMs, heartbeatMs, client, maxUnreadBytes, log });
    members.set(stream.id, { stream, owner, watched: new Set() });
    const leave = () => {
      members.delete(stream.id);
      watching.updateInBackground();
    };
    if (owner.loginId !== null && endedLogins.has(owner.loginId)) stream.end();
    if (stream.signal.aborted) leave();
    else stream.signal.addEventListener('abort', leave, { once: true });
  }

  async function watch(streamId: string, stageIds: readonly StageId[], ownerKey: string): Promise<void> {
    const member = members.get(streamId);
    if (member?.owner.key !== ownerKey) throw new Rejection('not_found', `There is no open event stream ${streamId}.`);
    member.watched = new Set(stageIds);
    await watching.update();
  }

  return {
    requireReady() {
      if (client.seq() === null) throw new OrchestratorUnreachable(NOT_CONNECTED);
    },
    requireRoom(ownerKey, max) {
      const open = [...members.values()].filter(({ owner }) => owner.key === ownerKey).length;
      if (open >= max) throw tooManyStreams(open);
    },
    join,
    watch,
    openStreams: () => members.size,
    endAll: () => each((stream) => stream.end()),
    close() {
      for (const timer of [heartbeat, loginCheck]) clearInterval(timer);
      unlisten();
      each((stream) => stream.end());
    },
  };
}

async function endIfLoggedOut({ stream, owner }: Member): Promise<void> {
  if (!(await owner.stillAllowed())) stream.end();
}

const tooManyStreams = (open: number): Rejection =>
  new Rejection(
    'too_many_streams',
    `This login has ${open} event streams open, which is the limit. Close some of them.`,
  );

/** Remembers the newest values, up to a limit. */
function createRecentSet(limit: number) {
  const values = new Set<string>();
  return {
    add(value: string): void {
      values.add(value);
      const [oldest] = values;
      if (values.size > limit && oldest !== undefined) values.delete(oldest);
    },
    has: (value: string): boolean => values.has(value),
  };
}

/** Collects the events that arrive in one tick; each stream gets them in one write, and they are formatted once for all. */
function createBatch(write: (texts: readonly EventText[]) => void) {
  let batch: RawEvent[] = [];

  function flush(): void {
    const events = batch;
    batch = [];
    if (events.length === 0) return;
    const texts = events.map((event) => ({ seq: event.seq, text: storedEvent(event) }));
    for (const { type } of events) mark('event sent', type);
    write(texts);
  }

  return {
    add(event: RawEvent): void {
      if (batch.length === 0) process.nextTick(flush);
      batch.push(event);
    },
    flush,
  };
}

/** Joins the texts that arrive in one tick: each stream gets them in one write. */
function createTexts(write: (text: string) => void) {
  let texts: string[] = [];
  return {
    add(text: string): void {
      texts.push(text);
      if (texts.length > 1) return;
      process.nextTick(() => {
        write(texts.join(''));
        texts = [];
      });
    },
  };
}

/** Keeps the orchestrator informed of the stages that any stream watches. */
function createWatching({ client, log }: Pick<EventHubDeps, 'client' | 'log'>, watchedNow: () => StageId[]) {
  let watching: ReadonlySet<StageId> = new Set();

  async function send(): Promise<void> {
    try {
      await client.send('watch', { stageIds: [...watching].slice(0, MAX_WATCHED) });
    } catch (error) {
      if (!(error instanceof OrchestratorUnreachable)) throw error; // sent again with the next connection
    }
  }

  const logFailure = (error: unknown) =>
    log.error({ err: error }, 'could not tell the orchestrator the watched stages');

  /** Sends the stages if they have changed. */
  async function update(): Promise<void> {
    const all = new Set(watchedNow());
    if (all.size === watching.size && all.isSubsetOf(watching)) return;
    watching = all;
    await send();
  }

  return {
    update,
    updateInBackground: () => void update().catch(logFailure),
    /** Sends the stages to a new connection. */
    repeat() {
      if (watching.size > 0) void send().catch(logFailure);
    },
  };
}

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
function createEventStream(deps: EventStreamDeps): EventStream {
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

/**
 * Formats a stored event as a server-sent event: `seq` is the id. `at` is our own field; the standard lets clients that do
 * not know it, browsers among them, ignore it.
 */
const storedEvent = ({ type, seq, at, data }: RawEvent): string =>
  `event: ${type}\nid: ${seq}\nat: ${at}\ndata: ${data}\n\n`;

/** A stored event, formatted. */
export interface EventText {
  seq: number;
  text: string;
}

/** Formats an event that is not stored: without an id, so that a reconnecting browser still sends the last stored one. */
const passingEvent = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Formats the event that tells a client to reload the board. A reconnecting client continues after `seq`. */
const resyncEvent = (seq: number): string => `event: resync\nid: ${seq}\ndata: ${JSON.stringify({ seq })}\n\n`;

const HEARTBEAT = ': heartbeat\n\n';
