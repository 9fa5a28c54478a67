import type { Writable } from 'node:stream';
import { eventData, type StageId } from '@callboard/contract';
import { mark } from '@callboard/runtime/marks';
import type { FastifyBaseLogger } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { OrchestratorUnreachable, Rejection } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { NOT_CONNECTED } from '../orchestrator/connection.ts';
import type { ToldEvent } from '../orchestrator/told-event.ts';
import { createEventStream, type EventStream } from './event-stream.ts';
import { passingEvent, storedEvent } from './sse.ts';

/** Whose stream it is. */
export interface StreamOwner {
  /** The same for all streams of one credential. */
  key: string;
  /** Null for an API token. */
  loginId: string | null;
  /** False once the login is no longer good; asked at each heartbeat. */
  stillAllowed: () => Promise<boolean>;
}

export interface EventHub {
  /** Throws OrchestratorUnreachable when no stream can be begun yet. */
  requireReady(): void;
  /** Throws `too_many_streams` when the credential has as many streams as it may have. */
  requireRoom(ownerKey: string, max: number): void;
  /** Begins a stream on a response whose head is written; it leaves by itself when the response closes. */
  join(out: Writable, since: number | null, owner: StreamOwner): void;
  /**
   * From now on this stream gets the text deltas of exactly these stages. Resolves when the orchestrator knows; while
   * it cannot be reached the wish is kept and passed on later. Rejects with `not_found` for a stream that is not open,
   * or not this owner's.
   */
  watch(streamId: string, stageIds: readonly StageId[], ownerKey: string): Promise<void>;
  endAll(): void;
  /** Ends all streams and stops listening. */
  close(): void;
}

export interface EventHubParts {
  client: OrchestratorClient;
  log: FastifyBaseLogger;
  heartbeatMs: number;
  maxUnreadBytes: number;
}

interface Member {
  stream: EventStream;
  owner: StreamOwner;
  watched: ReadonlySet<StageId>;
}

const LoginEnded = eventData['login-ended'];
/** What one `watch` command may name. */
const MAX_WATCHED = 1_000;
/** Logins that have ended: a stream that is just being opened for one of them ends as well. */
const MAX_ENDED = 1_000;

/** Fans the orchestrator's events out to the browsers' streams. */
export function createEventHub({ client, log, heartbeatMs, maxUnreadBytes }: EventHubParts): EventHub {
  const members = new Map<string, Member>();
  let watching: ReadonlySet<StageId> = new Set();
  const ended = new Set<string>();

  function each(call: (stream: EventStream) => void): void {
    for (const { stream } of [...members.values()]) call(stream);
  }

  /** The events that came in the same tick: they go to each stream in one write, and are put into words once for all. */
  let batch: ToldEvent[] = [];

  function passBatch(): void {
    const events = batch;
    batch = [];
    if (events.length === 0) return;
    const texts = events.map((event) => ({ seq: event.seq, text: storedEvent(event) }));
    for (const { type } of events) mark('event sent', type);
    each((stream) => stream.events(texts));
  }

  /** After the events that came before it. */
  function passToAll(text: string): void {
    passBatch();
    each((stream) => stream.pass(text));
  }

  const unlisten = client.listen({
    event(event) {
      if (event.type === 'login-ended') endLogin(LoginEnded.parse(JSON.parse(event.data)).loginId);
      if (members.size === 0) return;
      if (batch.length === 0) process.nextTick(passBatch);
      batch.push(event);
    },
    resync() {
      passBatch();
      each((stream) => stream.resync());
    },
    textDelta(delta) {
      passBatch();
      const text = passingEvent('text-delta', delta);
      for (const { stream, watched } of [...members.values()]) if (watched.has(delta.stageId)) stream.pass(text);
    },
    notices: (notices) => passToAll(passingEvent('notices-updated', notices)),
    status(status) {
      passToAll(passingEvent('orchestrator-status', { status }));
      if (status === 'ready' && watching.size > 0) void tellWatched().catch(logWatchFailure); // a new connection knows nothing
    },
  });

  const heartbeat = setInterval(() => {
    for (const member of [...members.values()]) void beat(member);
  }, heartbeatMs);
  heartbeat.unref();

  function endLogin(loginId: string): void {
    ended.add(loginId);
    const [oldest] = ended;
    if (ended.size > MAX_ENDED && oldest !== undefined) ended.delete(oldest);
    for (const { stream, owner } of [...members.values()]) if (owner.loginId === loginId) stream.end();
  }

  async function beat({ stream, owner }: Member): Promise<void> {
    stream.heartbeat();
    if (!(await owner.stillAllowed())) stream.end();
  }

  function join(out: Writable, since: number | null, owner: StreamOwner): void {
    const stream = createEventStream({ id: uuidv7(), out, since, client, maxUnreadBytes, log });
    members.set(stream.id, { stream, owner, watched: new Set() });
    const leave = () => {
      members.delete(stream.id);
      void shareWatched().catch(logWatchFailure);
    };
    if (owner.loginId !== null && ended.has(owner.loginId)) stream.end();
    if (stream.signal.aborted) leave();
    else stream.signal.addEventListener('abort', leave, { once: true });
  }

  async function watch(streamId: string, stageIds: readonly StageId[], ownerKey: string): Promise<void> {
    const member = members.get(streamId);
    if (member?.owner.key !== ownerKey) throw new Rejection('not_found', `There is no open event stream ${streamId}.`);
    member.watched = new Set(stageIds);
    await shareWatched();
  }

  /** Tells the orchestrator what is watched by any stream, if that has changed. */
  async function shareWatched(): Promise<void> {
    const all = new Set([...members.values()].flatMap(({ watched }) => [...watched]));
    if (all.size === watching.size && all.isSubsetOf(watching)) return;
    watching = all;
    await tellWatched();
  }

  async function tellWatched(): Promise<void> {
    try {
      await client.send('watch', { stageIds: [...watching].slice(0, MAX_WATCHED) });
    } catch (error) {
      if (!(error instanceof OrchestratorUnreachable)) throw error; // told again by the next connection
    }
  }

  function logWatchFailure(error: unknown): void {
    log.error({ err: error }, 'the watched stages could not be passed on');
  }

  const endAll = () => each((stream) => stream.end());
  return {
    requireReady() {
      if (client.seq() === null) throw new OrchestratorUnreachable(NOT_CONNECTED);
    },
    requireRoom(ownerKey, max) {
      const open = [...members.values()].filter(({ owner }) => owner.key === ownerKey).length;
      if (open < max) return;
      const words = `This login has ${open} event streams open, which is as many as it may have. Close some of them.`;
      throw new Rejection('too_many_streams', words);
    },
    join,
    watch,
    endAll,
    close() {
      clearInterval(heartbeat);
      unlisten();
      endAll();
    },
  };
}
