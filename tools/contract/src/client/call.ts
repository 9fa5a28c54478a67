import { Problem } from '../problems.ts';
import { type Route, toRequest } from './routes.ts';
import { TransportError } from './transport.ts';

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
