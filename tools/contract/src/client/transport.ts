import { z } from 'zod';
import type { Decision } from '../approvals.ts';
import { type CommandInput, type CommandReply, type CommandType, commands } from '../commands.ts';
import type { BoardEvent } from '../events.ts';
import type { StreamEventData, StreamEventType } from '../http.ts';
import { type CommandError, Problem, type ProblemCode, problems } from '../problems.ts';
import { type Route, type RoutedCommand, toRequest } from './routes.ts';

/** The commands that a client may give. */
export type ClientCommand = RoutedCommand | 'watch';

type Passing = Exclude<StreamEventType, 'stream'>;

/**
 * A stored event with its number, or one that is not stored: `resync` (reload the board; what follows comes after its `seq`),
 * `orchestrator-status` (the first item, and on every change), or a `text-delta` of a watched stage.
 */
export type StreamItem = BoardEvent | { [T in Passing]: { type: T; data: StreamEventData<T> } }[Passing];

export interface EventOptions {
  /** The number of the last known event, for example `seq` of a board. Without it, events from now on. */
  since?: number;
}

/**
 * Callboard for programs: over HTTP or inside the orchestrator's process, with the same promises.
 *
 * @example
 * const board = await transport.command('get_board', {});
 * for await (const item of transport.events({ since: board.seq }, signal)) show(item);
 */
export interface Transport {
  /**
   * Sends a command and resolves with its reply. Rejects with `TransportError`, or with the signal's reason. A command is never
   * executed twice; an aborted one may have been executed. `watch` applies to all event streams of this transport, including
   * those that are opened later.
   */
  command<T extends ClientCommand>(type: T, input: CommandInput<T>, signal?: AbortSignal): Promise<CommandReply<T>>;
  /**
   * Yields each stored event once, by ascending `seq`, across lost connections. Begins with the first `next()`, ends when
   * the signal aborts, and throws `TransportError` if retrying does not help (no login).
   */
  events(options: EventOptions, signal: AbortSignal): AsyncIterable<StreamItem>;
}

/** `network`: no answer came, and the effect is unknown. `unreadable`: the answer is not Callboard's. */
export type TransportErrorCode = ProblemCode | 'network' | 'unreadable';

const TRANSIENT: readonly number[] = [429, 502, 503];

/** A command failed. `message` says what happened and what to do. */
export class TransportError extends Error {
  /** The HTTP status, or the status of the code; 0 without an answer. */
  readonly status: number;
  readonly code: TransportErrorCode;
  /** With a conflict: the decision that stands. */
  readonly decision: Decision | null;

  constructor(
    status: number,
    code: TransportErrorCode,
    message: string,
    { decision = null, ...options }: { decision?: Decision | null; cause?: unknown } = {},
  ) {
    super(message, options);
    this.name = 'TransportError';
    this.status = status;
    this.code = code;
    this.decision = decision;
  }

  /**
   * Whether the same request may succeed later: the server is unreachable, not ready (502, 503) or limits this login (429), or
   * the page must prove itself again.
   */
  get isTransient(): boolean {
    return this.code === 'network' || this.code === 'page_not_proven' || TRANSIENT.includes(this.status);
  }
}

/** Error texts for failures that Callboard itself did not report. */
export interface FailureTexts {
  unanswered: string;
  /** @param what a short description of the reply */
  unreadable: (what: string) => string;
}

/** For programs. */
export const FOR_PROGRAMS: FailureTexts = {
  unanswered: 'Callboard did not answer. Check the state before you try again.',
  unreadable: (what) =>
    `Callboard's answer could not be parsed (${what}). The client and the server may have different versions.`,
};

export interface CallDeps {
  /** The origin of Callboard: `http://127.0.0.1:3100`. Empty in Callboard's own pages. */
  origin: string;
  /** An API token. Callboard's own pages have none: they pass a `fetch` that proves the page. */
  token?: string;
  /** Replaces the platform's `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  text?: FailureTexts;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Send the request even if the user leaves the page. */
  keepalive?: boolean;
  /** Never wait for another request of the same URL, as a browser's cache does. */
  isUncached?: boolean;
  headers?: Record<string, string>;
}

export interface Calls {
  /**
   * Sends one request, never twice. The fields go into the path, the query or the body, as the route says.
   * @returns the response, with any 2xx status
   * @throws as `HttpClient.command`
   */
  call(route: Route, fields: object, options?: CallOptions): Promise<Response>;
  /**
   * Awaits the content of a response: `read(response.json(), signal)`.
   * @throws TransportError `network` if the connection breaks off, or the signal's reason
   */
  read<T>(content: Promise<T>, signal: AbortSignal | undefined): Promise<T>;
  /** Returns the error for an answer that is not Callboard's, or not from this version. */
  unreadable(status: number, what: string): TransportError;
}

/** Creates the functions that send requests with the token, or with the login of the browser. */
export function createCalls(deps: CallDeps): Calls {
  const { origin, token, fetch: given = (...args) => fetch(...args), text = FOR_PROGRAMS } = deps;
  const login: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const unreadable = (status: number, what: string) => new TransportError(status, 'unreadable', text.unreadable(what));

  async function read<T>(content: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      return await content;
    } catch (cause) {
      if (signal?.aborted === true) throw signal.reason;
      throw new TransportError(0, 'network', text.unanswered, { cause });
    }
  }

  async function call(route: Route, fields: object, { signal, keepalive, isUncached, headers }: CallOptions = {}) {
    const { url, body } = toRequest(route, fields);
    const sent = given(`${origin}${url}`, {
      method: route.method,
      headers: { ...login, ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      ...(keepalive === true && { keepalive }),
      ...(isUncached === true && { cache: 'no-store' as const }),
    });
    const response = await read(sent, signal);
    if (response.ok) return response;
    const problem = Problem.safeParse(parsed(await read(response.text(), signal)));
    if (!problem.success) throw unreadable(response.status, `status ${response.status}`);
    const { status, code, detail, decision = null } = problem.data;
    throw new TransportError(status, code, detail, { decision });
  }

  return { call, read, unreadable };
}

/** Parses JSON; undefined if it is invalid. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the parsed input; throws `bad_request` before anything is sent. */
export function checkedInput<T extends CommandType>(type: T, input: CommandInput<T>): Record<string, unknown> {
  const parsed = z.safeParse<z.ZodType<Record<string, unknown>>>(commands[type].input, input);
  if (parsed.success) return parsed.data;
  throw new TransportError(problems.bad_request.status, 'bad_request', z.prettifyError(parsed.error));
}

/** Returns the parsed reply; throws `internal` if it is invalid. */
export function checkedReply<T extends CommandType>(type: T, data: unknown): CommandReply<T> {
  const parsed = commands[type].reply.safeParse(data);
  if (parsed.success) return parsed.data as CommandReply<T>; // the schema was looked up by T
  const text = `Callboard's answer to ${type} is invalid.`;
  throw new TransportError(problems.internal.status, 'internal', `${text}\n${z.prettifyError(parsed.error)}`);
}

/** Returns the error for a refused command. */
export const refused = ({ code, message, decision }: CommandError): TransportError =>
  new TransportError(problems[code].status, code, message, { decision: decision ?? null });
