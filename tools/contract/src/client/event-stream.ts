import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { BoardEvent, eventData, looksLikeEvent } from '../events.ts';
import { type StreamEventData, type StreamEventType, streamEventData } from '../http.ts';
import { serviceRoutes } from './routes.ts';
import { type Calls, parsed, TransportError } from './transport.ts';

export interface EventStreamOptions {
  /** The last known event; null to begin with the next one. */
  since: number | null;
  signal: AbortSignal;
  /** An open stream without data for this long, not even a heartbeat, counts as lost. The default is two heartbeats. */
  silenceMs?: number;
  /** Polls from the beginning, beside the stream: the last connection fell silent, or was held up. */
  isSuspect?: boolean;
  /** Called when the stream, or a poll in its place, has brought its first bytes. `since` is where it began. */
  onOpen?: () => void;
  /** Called with true when something on the way holds the stream back while polls are answered; with false when a stream flows. */
  onStalled?: (isStalled: boolean) => void;
  /** Called whenever something arrives. */
  onBytes?: () => void;
  /** Called with the number after which the first poll began, if `since` is null: a poll gives no `stream` message. */
  onPosition?: (seq: number) => void;
}

/** Of a server that does not say how often it sends a heartbeat. */
const SILENCE_MS = 45_000;
/** A stream brings its first bytes within this time, or polls begin beside it. */
const DUE_MS = 2_000;
/** Neither a stream nor polls have brought anything for this long: there is no way to the server. */
const LOST_MS = 6_000;
/** A stream that is held up is given up, and tried anew, so long after it was begun. */
const PROBE_MS = 10_000;
const NEXT_PROBE_MS = 30_000;
const TICK_MS = 500;

/**
 * Yields the messages of one connection until the server ends it. If a proxy on the way holds the stream back, which none does
 * with a complete response, polls take its place until a new stream comes through: short streams that end with their first
 * events. Each stored event is yielded once.
 * @throws TransportError the refusal, or `network` if the connection is lost or falls silent
 */
export async function* readEventStream(
  call: Calls['call'],
  options: EventStreamOptions,
): AsyncGenerator<RawMessage, void> {
  const { readable, writable } = new TransformStream<RawMessage[], RawMessage[]>();
  const writer = writable.getWriter();
  const reception = receive({ ...options, call, give: (messages) => writer.write(messages) });
  reception.ended
    .then(
      () => writer.close(),
      (error: unknown) => writer.abort(error),
    )
    .catch(() => undefined); // the reader has left
  const reader = readable.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* value;
    }
  } catch (error) {
    if (error instanceof TransportError) throw error;
    throw new TransportError(0, 'network', 'The event stream was lost.', { cause: error });
  } finally {
    reception.stop();
    await reader.cancel().catch(() => undefined); // it may have failed already
  }
}

interface Reception {
  /** Resolves when the server ends the stream; rejects when it is lost or refused. */
  ended: Promise<void>;
  stop(): void;
}

/** Asks for a stream, or with `wait` for one that ends with its first events, or after so long without any. */
function askForEvents(
  call: Calls['call'],
  { since, wait, signal }: { since: number | null; wait: number | null; signal: AbortSignal },
): Promise<Response> {
  const resume: Record<string, string> = since === null ? {} : { 'last-event-id': String(since) };
  const headers = { accept: 'text/event-stream', ...resume };
  return call(serviceRoutes.events, wait === null ? {} : { wait }, { headers, signal, isUncached: true });
}

type Deps = EventStreamOptions & {
  call: Calls['call'];
  /** Takes messages; resolves when there is room for more. */
  give: (messages: RawMessage[]) => Promise<void>;
};

/** One stream that was asked for. */
interface Attempt {
  over: AbortController;
  begunAt: number;
  /** It has brought something. */
  isFlowing: boolean;
}

/** What the caller was told. */
function createCallbacks({ onOpen, onStalled, onBytes }: EventStreamOptions) {
  let isStalled: boolean | null = null;
  const reported = {
    heardAt: Date.now(),
    /** Something has arrived. */
    isOpen: false,
    heard(): void {
      reported.heardAt = Date.now();
      onBytes?.();
      if (!reported.isOpen) onOpen?.();
      reported.isOpen = true;
    },
    stalled(now: boolean): void {
      if (isStalled === now) return;
      isStalled = now;
      onStalled?.(now);
    },
  };
  return reported;
}

function receive(deps: Deps): Reception {
  const over = new AbortController();
  const ended = Promise.withResolvers<void>();
  const intake = createIntake(deps);
  const reported = createCallbacks(deps);
  const ask = (own: AbortSignal, wait: number | null) =>
    askForEvents(deps.call, {
      since: intake.position(),
      wait,
      signal: AbortSignal.any([deps.signal, over.signal, own]),
    });
  const polls = createPolls({ ask, answered, failed: fail });
  let stream = startStream();

  function startStream(): Attempt {
    const attempt = { over: new AbortController(), begunAt: Date.now(), isFlowing: false };
    // Polls are answered, if the stream was not what opened the connection: they tell what is wrong.
    const counts = () => attempt === stream && (attempt.isFlowing || !reported.isOpen);
    readStream(attempt)
      .then(() => counts() && stop())
      .catch((error: unknown) => counts() && fail(error));
    return attempt;
  }

  async function readStream(attempt: Attempt): Promise<void> {
    const { body } = await ask(attempt.over.signal, null);
    if (body === null) return;
    for await (const message of readMessages(body, () => flowing(attempt)))
      reported.heardAt = await intake.take([message], false);
  }

  function flowing(attempt: Attempt): void {
    if (attempt !== stream || (!attempt.isFlowing && reported.isOpen && isOverdue())) {
      attempt.over.abort(); // it brings what was held back so far, and what comes next is held back again
      return;
    }
    reported.heard();
    attempt.isFlowing = true;
    polls.stop();
    reported.stalled(false);
  }

  async function answered(messages: readonly RawMessage[]): Promise<void> {
    if (stream.isFlowing) return;
    if (!reported.isOpen) {
      // The way is open now, which it may not have been when the stream was begun.
      stream.over.abort();
      stream = startStream();
    }
    reported.heard();
    reported.heardAt = await intake.take(messages, true);
  }

  const ageMs = () => Date.now() - stream.begunAt;
  /** Whether the stream in hand has brought nothing for too long. On a slow network, polls are slow as well. */
  const isOverdue = () => ageMs() >= Math.max(DUE_MS, 2 * polls.slowestMs());

  function check(): void {
    if (intake.isFull()) return; // nothing is read
    const quietMs = deps.silenceMs ?? 2 * (intake.heartbeatMs() ?? SILENCE_MS / 2);
    if (Date.now() - reported.heardAt >= (stream.isFlowing ? quietMs : LOST_MS)) {
      fail(new TransportError(0, 'network', 'The event stream fell silent.'));
    } else if (!stream.isFlowing && isOverdue()) {
      if (reported.isOpen) reported.stalled(true);
      polls.start(reported.isOpen);
      if (ageMs() >= PROBE_MS) stream.over.abort();
      if (ageMs() >= NEXT_PROBE_MS) stream = startStream();
    }
  }

  function stop(): void {
    stopTicking();
    polls.stop();
    over.abort();
    ended.resolve();
  }

  function fail(error: unknown): void {
    ended.reject(error);
    stop();
  }

  const stopTicking = tickRegularly(check);
  if (deps.isSuspect === true) polls.start(false);
  return { ended: ended.promise, stop };
}

/** Leaves out what was given before, as stream and polls may both bring it. */
function createIntake({ since, give, onPosition }: Pick<Deps, 'since' | 'give' | 'onPosition'>) {
  let position = since;
  let heartbeatMs: number | null = null;
  let giving = 0;
  /** The last messages without a number. */
  const passing = new Map<string, string>();

  function isNew({ name, id, data }: RawMessage, isPoll: boolean): boolean {
    if (name === 'stream') {
      begin(data, isPoll);
      return !isPoll; // nobody can watch stages on a poll
    }
    if (id === '') {
      const isKnown = passing.get(name) === data;
      passing.set(name, data);
      return !(isPoll && isKnown);
    }
    const seq = Number(id);
    if (name !== 'resync' && position !== null && seq <= position) return false;
    position = seq;
    return true;
  }

  function begin(data: string, isPoll: boolean): void {
    const stream = streamEventData.stream.safeParse(parsed(data)).data;
    if (stream === undefined) return;
    heartbeatMs = stream.heartbeatMs ?? null;
    if (position !== null) return;
    position = stream.seq;
    if (isPoll) onPosition?.(stream.seq);
  }

  return {
    position: () => position,
    heartbeatMs: () => heartbeatMs,
    /** Messages wait for whoever reads them. */
    isFull: () => giving > 0,
    /** Resolves when the messages were taken, with the time. */
    async take(messages: readonly RawMessage[], isPoll: boolean): Promise<number> {
      const fresh = messages.filter((message) => isNew(message, isPoll));
      giving += 1;
      try {
        if (fresh.length > 0) await give(fresh);
        return Date.now();
      } finally {
        giving -= 1;
      }
    },
  };
}

/** After a pause of the whole process, calls one time later: what has arrived meanwhile is read first. */
function tickRegularly(call: () => void): () => void {
  let tickedAt = Date.now();
  let wasLate = false;
  const timer = setInterval(() => {
    wasLate = !wasLate && Date.now() - tickedAt > 2 * TICK_MS;
    tickedAt = Date.now();
    if (!wasLate) call();
  }, TICK_MS);
  return () => clearInterval(timer);
}

/** A poll without an answer is followed by another, so that one goes out soon after the way is back. */
const NEXT_POLL_MS = 1_500;
/** Between two polls that are answered. */
const PAUSE_MS = 150;
/** How long the server keeps a poll open while nothing happens. */
const POLL_WAIT_MS = 2_000;

interface PollDeps {
  ask: (own: AbortSignal, wait: number) => Promise<Response>;
  answered: (messages: readonly RawMessage[]) => Promise<void>;
  /** The server refused a poll. */
  failed: (error: unknown) => void;
}

/** Asks for what has happened, again and again, by streams that end with their first events. */
function createPolls({ ask, answered, failed }: PollDeps) {
  const open = new Set<AbortController>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Null: not polling. Otherwise, how long the server may keep a poll open. */
  let wait: number | null = null;
  let slowestMs = 0;

  async function read(own: AbortController, waitMs: number): Promise<void> {
    const begunAt = Date.now();
    const { body } = await ask(own.signal, waitMs);
    const messages: RawMessage[] = [];
    if (body !== null) for await (const message of readMessages(body, () => undefined)) messages.push(message);
    slowestMs = Math.max(slowestMs, Date.now() - begunAt - waitMs);
    if (!own.signal.aborted) await answered(messages);
  }

  function poll(): void {
    if (wait === null) return;
    clearTimeout(timer);
    const own = new AbortController();
    open.add(own);
    const [oldest] = open;
    if (open.size > 2) end(oldest);
    timer = setTimeout(poll, NEXT_POLL_MS + wait);
    read(own, wait).then(
      () => {
        if (!open.delete(own)) return;
        clearTimeout(timer);
        timer = setTimeout(poll, PAUSE_MS);
      },
      (error: unknown) => {
        // One that was lost on its way is followed by the next.
        if (open.delete(own) && !(error instanceof TransportError && error.code === 'network')) failed(error);
      },
    );
  }

  function end(own: AbortController | undefined): void {
    if (own === undefined) return;
    open.delete(own);
    own.abort();
  }

  return {
    start(isLong: boolean): void {
      const isRunning = wait !== null;
      wait = isLong ? POLL_WAIT_MS : 0;
      if (!isRunning) poll();
    },
    stop(): void {
      wait = null;
      clearTimeout(timer);
      for (const own of [...open]) end(own);
    },
    slowestMs: () => slowestMs,
  };
}

/** One unparsed message of an event stream; a missing field is empty. */
export interface RawMessage {
  name: string;
  id: string;
  /** When the event was stored. */
  at: string;
  data: string;
}

/** A parsed message: a stored event, or one that is not stored. */
export type StreamMessage =
  | BoardEvent
  | { [T in StreamEventType]: { type: T; data: StreamEventData<T> } }[StreamEventType];

const Unstored = z.discriminatedUnion('type', [
  z.object({ type: z.literal('stream'), data: streamEventData.stream }),
  z.object({ type: z.literal('orchestrator-status'), data: streamEventData['orchestrator-status'] }),
  z.object({ type: z.literal('resync'), data: streamEventData.resync }),
  z.object({ type: z.literal('notices-updated'), data: streamEventData['notices-updated'] }),
  z.object({ type: z.literal('session-now'), data: streamEventData['session-now'] }),
  z.object({ type: z.literal('text-delta'), data: streamEventData['text-delta'] }),
]);

/** Returns a function that takes the text of a stream in pieces of any size, and calls `onMessage` for each complete message. */
export function createMessageReader(onMessage: (message: RawMessage) => void): (text: string) => void {
  let at = '';
  const parser = createParser({
    onEvent({ event = '', id = '', data }) {
      onMessage({ name: event, id, at, data });
      at = '';
    },
    // Our own field, which other clients ignore according to the standard.
    onError({ type, field, value }) {
      if (type === 'unknown-field' && field === 'at') at = value ?? '';
    },
  });
  let begun = '';
  return (text) => {
    // Only whole lines: the parser discards a partial line once it cannot become a known field.
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) parser.feed(begun + text.slice(0, end));
    begun = (end > 0 ? '' : begun) + text.slice(end);
  };
}

/** Yields the messages of a byte stream. Calls `onBytes` for comments as well. */
async function* readMessages(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<RawMessage, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const messages: RawMessage[] = [];
  const take = createMessageReader((message) => messages.push(message));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      take(decoder.decode(value, { stream: true }));
      yield* messages.splice(0);
    }
  } finally {
    await reader.cancel().catch(() => undefined); // it may have failed already
  }
}

/** How to check stored events: `whole` uses the full schema, `shape` is the cheap check of our own server's data (docs/decisions/api.md). */
export type EventCheck = 'whole' | 'shape';

/**
 * Parses a message; null for an unknown type, which a newer server sent.
 * @throws TransportError `unreadable`
 */
export function readMessage({ name, id, at, data }: RawMessage, check: EventCheck): StreamMessage | null {
  const message: unknown = { type: name, data: parsed(data), seq: Number(id), at };
  if (Object.hasOwn(streamEventData, name)) return readable(Unstored.safeParse(message), name);
  if (!Object.hasOwn(eventData, name)) return null;
  if (check === 'whole') return readable(BoardEvent.safeParse(message), name);
  if (looksLikeEvent(message)) return message;
  throw invalidEvent(name, 'it does not have the expected shape');
}

function readable<T>(result: z.ZodSafeParseResult<T>, name: string): T {
  if (result.success) return result.data;
  throw invalidEvent(name, z.prettifyError(result.error));
}

const invalidEvent = (name: string, why: string) =>
  new TransportError(0, 'unreadable', `The event ${name} is invalid: ${why}`);
