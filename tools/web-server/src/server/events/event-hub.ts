import type { Writable } from 'node:stream';
import type { StageId } from '@callboard/contract';
import type { FastifyBaseLogger } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { OrchestratorUnreachable, Rejection } from '../errors.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';
import { NOT_CONNECTED } from '../orchestrator/connection.ts';
import { createEventStream, type EventStream } from './event-stream.ts';
import { passingEvent, storedEvent } from './sse.ts';

/** Whose stream it is. */
export interface StreamOwner {
  /** The same for all streams of one login. */
  key: string;
  /** False once the login is no longer good; asked at each heartbeat. */
  stillAllowed: () => Promise<boolean>;
}

export interface EventHub {
  /** Throws OrchestratorUnreachable when no stream can be begun yet. */
  requireReady(): void;
  /** Begins a stream on a response whose head is written; it leaves by itself when the response closes. */
  join(out: Writable, since: number | null, owner: StreamOwner): void;
  /**
   * From now on this stream gets the text deltas of exactly these stages. Resolves when the orchestrator knows; while
   * it cannot be reached the wish is kept and passed on later. Rejects with `not_found` for an unknown stream.
   */
  watch(streamId: string, stageIds: readonly StageId[]): Promise<void>;
  /** Ends the streams of one login. */
  endOwnedBy(key: string): void;
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

/** What one `watch` command may name. */
const MAX_WATCHED = 1_000;

/** Fans the orchestrator's events out to the browsers' streams. */
export function createEventHub({ client, log, heartbeatMs, maxUnreadBytes }: EventHubParts): EventHub {
  const members = new Map<string, Member>();
  let watching: ReadonlySet<StageId> = new Set();

  function each(call: (stream: EventStream) => void): void {
    for (const { stream } of [...members.values()]) call(stream);
  }

  const unlisten = client.listen({
    event(event) {
      if (members.size === 0) return;
      const text = storedEvent(event);
      each((stream) => stream.event(event.seq, text));
    },
    resync: () => each((stream) => stream.resync()),
    textDelta(delta) {
      const text = passingEvent('text-delta', delta);
      for (const { stream, watched } of [...members.values()]) if (watched.has(delta.stageId)) stream.pass(text);
    },
    notices: (notices) => each((stream) => stream.pass(passingEvent('notices-updated', notices))),
    status(status) {
      each((stream) => stream.pass(passingEvent('orchestrator-status', { status })));
      if (status === 'ready' && watching.size > 0) void tellWatched().catch(logWatchFailure); // a new connection knows nothing
    },
  });

  const heartbeat = setInterval(() => {
    for (const member of [...members.values()]) void beat(member);
  }, heartbeatMs);
  heartbeat.unref();

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
    if (stream.signal.aborted) leave();
    else stream.signal.addEventListener('abort', leave, { once: true });
  }

  async function watch(streamId: string, stageIds: readonly StageId[]): Promise<void> {
    const member = members.get(streamId);
    if (member === undefined) throw new Rejection('not_found', `There is no open event stream ${streamId}.`);
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
    join,
    watch,
    endOwnedBy(key) {
      for (const { stream, owner } of [...members.values()]) if (owner.key === key) stream.end();
    },
    endAll,
    close() {
      clearInterval(heartbeat);
      unlisten();
      endAll();
    },
  };
}
