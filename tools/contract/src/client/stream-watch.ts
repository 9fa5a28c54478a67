import { TransportError } from './transport.ts';

/** Keeps the open event streams of a client informed of the stages whose live text they carry. */
export interface StreamWatch {
  /**
   * A stream is open, and knows nothing. It is told, and told again while that fails for a passing reason, until it has heard or
   * ends.
   * @param reopen opens the stream anew: another web server answers now than the one that holds it
   */
  opened(streamId: string, reopen: () => void): void;
  ended(streamId: string): void;
  /**
   * Sets the stages of all streams, also of those that open later.
   * @returns when the open ones have heard
   * @throws what `put` threw. If the reason may pass, the streams are told again all the same.
   */
  want(stageIds: readonly string[], signal?: AbortSignal): Promise<void>;
}

export interface StreamWatchDeps {
  /** Sends the request. */
  put: (streamId: string, stageIds: readonly string[], signal: AbortSignal) => Promise<unknown>;
  /** The longest pause between two attempts. */
  maxPauseMs: number;
}

/** How long a stream is kept that another web server holds: a balancer that takes servers in turn would end each at once. */
const REOPEN_AFTER_MS = 30_000;
const FIRST_PAUSE_MS = 100;

interface OpenStream {
  id: string;
  reopen: () => void;
  /** One request after the other, each with the newest stages, so that an older one cannot arrive last. */
  last: Promise<unknown>;
  timer: ReturnType<typeof setTimeout> | undefined;
  pauseMs: number;
  over: AbortController;
}

/** Creates the memory of a client's streams. Nothing is open yet, and no stage is wanted. */
export function createStreamWatch({ put, maxPauseMs }: StreamWatchDeps): StreamWatch {
  const streams = new Map<string, OpenStream>();
  let wanted: readonly string[] = [];
  let movedAt = Number.NEGATIVE_INFINITY;

  async function notify(stream: OpenStream, signal = stream.over.signal): Promise<void> {
    clearTimeout(stream.timer);
    const reported = stream.last.then(() => put(stream.id, wanted, AbortSignal.any([stream.over.signal, signal])));
    stream.last = reported.catch(() => undefined);
    try {
      await reported;
      clearTimeout(stream.timer); // of an older one that failed
      stream.pauseMs = FIRST_PAUSE_MS;
    } catch (error) {
      if (stream.over.signal.aborted) return; // the next one is told when it opens
      if (isNoStream(error)) return moved(stream);
      if (error instanceof TransportError && error.isTransient) later(stream);
      throw error;
    }
  }

  /**
   * The web server that answers knows nothing of the stream: a balancer gives this client another one now, or takes them in turn,
   * and the right one answers next time.
   */
  function moved(stream: OpenStream): void {
    if (performance.now() - movedAt < REOPEN_AFTER_MS) {
      later(stream);
      return;
    }
    movedAt = performance.now();
    stream.reopen();
  }

  function later(stream: OpenStream): void {
    clearTimeout(stream.timer);
    stream.timer = setTimeout(() => void notify(stream).catch(() => undefined), Math.min(stream.pauseMs, maxPauseMs));
    stream.pauseMs *= 2;
  }

  function ended(streamId: string): void {
    const stream = streams.get(streamId);
    streams.delete(streamId);
    clearTimeout(stream?.timer);
    stream?.over.abort();
  }

  return {
    opened(id, reopen) {
      const over = new AbortController();
      const stream = { id, reopen, over, last: Promise.resolve(), timer: undefined, pauseMs: FIRST_PAUSE_MS };
      streams.set(id, stream);
      if (wanted.length > 0) void notify(stream).catch(() => undefined); // it is told again, or cannot be
    },
    ended,
    async want(stageIds, signal) {
      wanted = stageIds;
      await Promise.all([...streams.values()].map((stream) => notify(stream, signal)));
    },
  };
}

/** The web server that was asked has no such stream. */
const isNoStream = (error: unknown): boolean => error instanceof TransportError && error.code === 'not_found';
