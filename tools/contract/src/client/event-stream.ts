import { streamEventData } from '../http.ts';
import { type Calls, parsed } from './call.ts';
import { createPolls } from './event-polls.ts';
import { serviceRoutes } from './routes.ts';
import { type RawMessage, readMessages } from './sse-reader.ts';
import { TransportError } from './transport.ts';

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
