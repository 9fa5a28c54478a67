import type { Writable } from 'node:stream';
import { eventData, type StageId } from '@callboard/contract';
import { mark } from '@callboard/runtime/marks';
import type { FastifyBaseLogger } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { OrchestratorUnreachable, Rejection } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { NOT_CONNECTED } from '../orchestrator/connection.ts';
import type { RawEvent } from '../orchestrator/raw-event.ts';
import { createEventStream, type EventStream, type EventStreamDeps } from './event-stream.ts';
import { type EventText, passingEvent, storedEvent } from './sse.ts';

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
