import { type Backoff, createBackoff } from '@callboard/runtime/waits';
import { z } from 'zod';
import { type CommandInput, type CommandReply, commands, REPLY_LIMITS_MS, timeOf } from '../commands.ts';
import { IDEMPOTENCY_AGE_HEADER, IDEMPOTENCY_KEY_HEADER } from '../http.ts';
import { type EventStreamOptions, type RawMessage, readEventStream, readMessage } from './event-stream.ts';
import { type Route, type RoutedCommand, routes, serviceRoutes } from './routes.ts';
import {
  type CallDeps,
  type CallOptions,
  type Calls,
  type ClientCommand,
  checkedInput,
  createCalls,
  FOR_PROGRAMS,
  parsed,
  type StreamItem,
  type Transport,
  TransportError,
  type TransportErrorCode,
} from './transport.ts';

export interface HttpTransportOptions extends CallDeps {
  /** A stream without data for this long, not even a heartbeat, is reopened. The default is two heartbeats. */
  silenceMs?: number;
  /** The longest pause between two attempts to open a stream. */
  maxPauseMs?: number;
  /**
   * How long a command whose reply was lost is sent again, with an `Idempotency-Key`, under which it is executed once. By default it is
   * not sent again.
   */
  resendMs?: number;
}

const ATTEMPT_MS = 10_000;

/** Whether it creates something under an id of the sender's choice. */
const hasOwnId = (input: object): boolean => 'creationId' in input || ('message' in input && 'messageId' in input);

/** Creates a transport over REST and server-sent events, for browsers and Node. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { silenceMs, maxPauseMs = 1_000, resendMs = 0 } = options;
  const calls = createCalls(options);
  const { call } = calls;
  const give = createCommand(calls);
  const watch = createStreamWatch({
    put: (streamId, stageIds, signal) => call(serviceRoutes.watch, { streamId, stageIds }, { signal }),
    maxPauseMs,
  });

  async function command<T extends ClientCommand>(type: T, given: CommandInput<T>, signal?: AbortSignal) {
    const input = checkedInput(type, given);
    if (type === 'watch') {
      await watch.want((input as CommandInput<'watch'>).stageIds, signal); // T is 'watch'
      return {} as CommandReply<T>;
    }
    const routed = type as Exclude<T, 'watch'>;
    if (resendMs === 0 || routes[routed].method === 'GET') return give(routed, input, { signal });
    const key = crypto.randomUUID();
    return resend(
      (attempt) => {
        const either = signal === undefined ? attempt.signal : AbortSignal.any([signal, attempt.signal]);
        // What has an id of its own is known by that, also after a restart of Callboard.
        const headers = hasOwnId(input) ? {} : idempotencyHeaders(key, attempt);
        return give(routed, input, { signal: either, headers });
      },
      {
        patienceMs: resendMs,
        heldMs: REPLY_LIMITS_MS[timeOf(type)],
        attemptMs: ATTEMPT_MS,
        unanswered: () => new TransportError(0, 'network', (options.text ?? FOR_PROGRAMS).unanswered),
      },
    );
  }

  return {
    command,
    events: ({ since }, signal) =>
      httpEvents({
        call,
        since: since ?? null,
        signal,
        silenceMs,
        maxPauseMs,
        onOpen: watch.opened,
        onEnd: watch.ended,
      }),
  };
}

export type HttpClientOptions = CallDeps;

/** Callboard over REST, one request at a time. Callboard's pages use it, and the HTTP transport is built on it. */
export interface HttpClient {
  /**
   * Sends a command and resolves with its reply, which is checked with its schema. The input is typed; the server validates
   * it. A command is never sent twice.
   * @throws TransportError, or the signal's reason; an aborted command may have been executed
   */
  command<T extends RoutedCommand>(
    type: T,
    input: CommandInput<T> & object,
    options?: CallOptions,
  ): Promise<CommandReply<T>>;
  /** Sends a request to a route that is no command. Returns the response, with any 2xx status; throws as `command`. */
  call: Calls['call'];
  /** Downloads a file completely; throws as `command`, also if the download breaks off. */
  file(route: Route, fields: object, signal?: AbortSignal): Promise<Blob>;
  /** Yields the messages of one event stream until its connection ends. */
  stream(options: EventStreamOptions): AsyncGenerator<RawMessage, void>;
}

/** Creates a client of the Callboard at an origin. Needs a platform with `fetch`. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const calls = createCalls(options);
  return {
    command: createCommand(calls),
    call: calls.call,
    file: async (route, fields, signal) => {
      const response = await calls.call(route, fields, { signal });
      return calls.read(response.blob(), signal);
    },
    stream: (given) => readEventStream(calls.call, given),
  };
}

/** Returns a function that sends commands without checking their input. */
function createCommand({ call, read, unreadable }: Calls) {
  return async <T extends RoutedCommand>(type: T, input: object, options?: CallOptions): Promise<CommandReply<T>> => {
    const response = await call(routes[type], input, options);
    const reply = commands[type].reply.safeParse(parsed(await read(response.text(), options?.signal)));
    if (reply.success) return reply.data as CommandReply<T>; // the schema was looked up by T
    throw unreadable(response.status, z.prettifyError(reply.error));
  };
}

export interface HttpEventsOptions {
  call: Calls['call'];
  /** The last known event; null to begin with the next one. */
  since: number | null;
  signal: AbortSignal;
  silenceMs: number | undefined;
  maxPauseMs: number;
  /** `reopen` ends this connection; the next one follows at once. */
  onOpen: (streamId: string, reopen: () => void) => void;
  onEnd: (streamId: string) => void;
}

const FIRST_PAUSE_MS = 100;
const UNREACHABLE: StreamItem = { type: 'orchestrator-status', data: { status: 'unreachable' } };

/** Yields events across reconnections as one sequence. */
async function* httpEvents(deps: HttpEventsOptions): AsyncGenerator<StreamItem, void> {
  const { signal, maxPauseMs } = deps;
  let { since } = deps;
  let status: string | null = null;
  const backoff = createBackoff({ firstMs: FIRST_PAUSE_MS, maxMs: maxPauseMs });
  /** The last connection was lost, or is held up by a proxy: the next one polls from its beginning. */
  let isSuspect = false;
  /** The connection ends because another one is wanted. */
  let isMoving = false;
  const onMove = () => {
    isMoving = true;
  };
  while (!signal.aborted) {
    try {
      const onStalled = (isStalled: boolean) => {
        isSuspect = isStalled;
      };
      const onPosition = (seq: number) => {
        since ??= seq;
      };
      for await (const item of oneConnection({ ...deps, since, isSuspect, onMove, onStalled, onPosition })) {
        backoff.reset();
        if (item.type === 'stream') since ??= item.data.seq;
        else if (item.type === 'resync') since = item.data.seq;
        else if ('seq' in item) since = item.seq;
        if (item.type === 'stream' || (item.type === 'orchestrator-status' && item.data.status === status)) continue;
        if (item.type === 'orchestrator-status') status = item.data.status;
        yield item;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof TransportError) || !error.isTransient) throw error;
      isSuspect ||= error.code === 'network';
    }
    if (signal.aborted) return;
    if (isMoving) {
      isMoving = false;
      continue;
    }
    if (status !== 'unreachable') yield UNREACHABLE;
    status = 'unreachable';
    await backoff.wait(signal);
  }
}

/** Yields the items of one connection until it ends; throws `network` if it is lost. */
async function* oneConnection(
  deps: HttpEventsOptions & Pick<EventStreamOptions, 'isSuspect' | 'onStalled' | 'onPosition'> & { onMove: () => void },
) {
  const { call, since, silenceMs, isSuspect, onStalled, onPosition, onOpen, onEnd, onMove } = deps;
  let streamId: string | null = null;
  const over = new AbortController();
  const reopen = () => {
    onMove();
    over.abort();
  };
  try {
    const signal = AbortSignal.any([deps.signal, over.signal]);
    const reported = { isSuspect, onStalled, onPosition, ...(silenceMs !== undefined && { silenceMs }) };
    const options = { since, signal, ...reported };
    for await (const raw of readEventStream(call, options)) {
      const item = readMessage(raw, 'whole');
      if (item?.type === 'stream') {
        streamId = item.data.streamId;
        onOpen(streamId, reopen);
      }
      // Clients get the notices with the board.
      if (item !== null && item.type !== 'notices-updated') yield item;
    }
  } finally {
    if (streamId !== null) onEnd(streamId);
  }
}

/** Nothing was done. */
const NOT_DONE: readonly TransportErrorCode[] = ['orchestrator_unreachable', 'starting'];
const LOST: readonly TransportErrorCode[] = ['network', 'reply_lost'];

/** Whether the reply to a request was lost, so that nobody knows whether it was done: also if a proxy says so. */
export const isLost = (error: unknown): error is TransportError =>
  error instanceof TransportError &&
  (LOST.includes(error.code) || (error.code === 'unreadable' && error.status >= 500));

const RESEND_BACKOFF = { firstMs: 200, maxMs: 1_600 };

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** One of several attempts to send the same. */
export interface Attempt {
  /** From 1. */
  nth: number;
  /** Aborts at the end of its time. */
  signal: AbortSignal;
  /** The milliseconds since the first attempt whose outcome is not known; null if all before certainly did nothing. */
  unknownForMs: number | null;
}

export interface Resending {
  /** How long it is sent again. */
  patienceMs: number;
  /** How long one attempt may take: a server that hangs keeps its connections open and never answers. */
  attemptMs: number;
  /** How much of the time of such attempts does not count: a command that takes its time is executed on, whoever waits for it. */
  heldMs?: number | undefined;
  wait?: ((ms: number) => Promise<void>) | undefined;
  /** The error for an attempt without an answer, and in the end for all of them, if one of them may have been executed. */
  unanswered: () => TransportError;
}

/**
 * Sends, and sends again while the server does not answer. Use it only for requests that may safely arrive twice.
 * @throws the error of the last attempt, which does not say that nothing was done unless that holds for all; a refusal at once
 */
export async function resend<T>(
  send: (attempt: Attempt) => Promise<T>,
  { patienceMs, attemptMs, heldMs = 0, wait = sleep, unanswered }: Resending,
): Promise<T> {
  const backoff = createBackoff(RESEND_BACKOFF);
  let waited = 0;
  let held = 0;
  let unknownSince: number | null = null;
  for (let nth = 1; ; nth += 1) {
    const begun = performance.now();
    const unknownForMs = unknownSince === null ? null : begun - unknownSince;
    try {
      return await within(attemptMs, unanswered, (signal) => send({ nth, signal, unknownForMs }));
    } catch (error) {
      const isNotDone = error instanceof TransportError && NOT_DONE.includes(error.code);
      if (!isNotDone && !isLost(error)) throw error;
      if (!isNotDone) unknownSince ??= begun;
      const took = performance.now() - begun;
      if (took >= attemptMs) held += took;
      else waited += took;
      if (waited + Math.max(0, held - heldMs) >= patienceMs)
        throw isNotDone && unknownSince !== null ? unanswered() : error;
    }
    const delay = backoff.next();
    waited += delay;
    await wait(delay);
  }
}

async function within<T>(
  ms: number,
  unanswered: () => TransportError,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), ms);
  try {
    return await send(giveUp.signal);
  } catch (error) {
    throw giveUp.signal.aborted && !(error instanceof TransportError) ? unanswered() : error;
  } finally {
    clearTimeout(timer);
  }
}

/** The headers under which a request that is sent again is the same request. */
export const idempotencyHeaders = (key: string, { unknownForMs }: Attempt): Record<string, string> => ({
  [IDEMPOTENCY_KEY_HEADER]: key,
  ...(unknownForMs !== null && { [IDEMPOTENCY_AGE_HEADER]: String(Math.ceil(unknownForMs)) }),
});

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

interface OpenStream {
  id: string;
  reopen: () => void;
  /** One request after the other, each with the newest stages, so that an older one cannot arrive last. */
  last: Promise<unknown>;
  timer: ReturnType<typeof setTimeout> | undefined;
  backoff: Backoff;
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
      stream.backoff.reset();
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
    stream.timer = setTimeout(() => void notify(stream).catch(() => undefined), stream.backoff.next());
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
      const backoff = createBackoff({ firstMs: FIRST_PAUSE_MS, maxMs: maxPauseMs });
      const stream = { id, reopen, over, last: Promise.resolve(), timer: undefined, backoff };
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
