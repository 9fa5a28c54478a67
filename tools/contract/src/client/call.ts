import { Problem } from '../problems.ts';
import { type Route, toRequest } from './routes.ts';
import { TransportError } from './transport.ts';

/** Words for what goes wrong without Callboard saying anything of it, for whoever reads them. */
export interface FailureWords {
  unanswered: string;
  /** @param what the server said instead, in short */
  unreadable: (what: string) => string;
}

const FOR_PROGRAMS: FailureWords = {
  unanswered: 'Callboard did not answer; look at the state before trying again.',
  unreadable: (what) => `Callboard's answer is not understood (${what}); the two may be of different versions.`,
};

export interface CallParts {
  /** Where Callboard is: `http://127.0.0.1:3100`. Empty in a page of Callboard's own. */
  origin: string;
  /** An API token. A page of Callboard's own has none: it gives a `fetch` that proves the page. */
  token?: string;
  /** Instead of the platform's own. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  words?: FailureWords;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Goes out even when the page is left meanwhile. */
  keepalive?: boolean;
  headers?: Record<string, string>;
}

export interface Calls {
  /**
   * One request, never sent twice: the fields go into the path, the query or the body, as the route says.
   * @returns the response, of any 2xx status
   * @throws as `HttpClient.command` does
   */
  call(route: Route, fields: object, options?: CallOptions): Promise<Response>;
  /**
   * What is read of a response: `read(response.json(), signal)`.
   * @throws TransportError `network` when the connection ends within it, or the signal's reason
   */
  read<T>(content: Promise<T>, signal: AbortSignal | undefined): Promise<T>;
  /** An answer came that is not Callboard's, or not one of this version. */
  unreadable(status: number, what: string): TransportError;
}

/** Makes requests in the name of the token's owner, or of the browser's. */
export function createCalls(parts: CallParts): Calls {
  const { origin, token, fetch: given = (...args) => fetch(...args), words = FOR_PROGRAMS } = parts;
  const login: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const unreadable = (status: number, what: string) => new TransportError(status, 'unreadable', words.unreadable(what));

  async function read<T>(content: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      return await content;
    } catch (cause) {
      if (signal?.aborted === true) throw signal.reason;
      throw new TransportError(0, 'network', words.unanswered, { cause });
    }
  }

  async function call(route: Route, fields: object, { signal, keepalive, headers }: CallOptions = {}) {
    const { url, body } = toRequest(route, fields);
    const sent = given(`${origin}${url}`, {
      method: route.method,
      headers: { ...login, ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      ...(keepalive === true && { keepalive }),
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

/** Undefined for what is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
