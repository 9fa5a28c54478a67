import { Problem } from '../problems.ts';
import { TransportError } from './transport.ts';

/** See `HttpTransportOptions`. */
export interface CallParts {
  origin: string;
  token?: string;
  fetch?: typeof fetch;
}

/** One call: resolves with a response of any 2xx status, rejects as `Transport.command` does. */
export type Call = (method: string, url: string, options?: CallOptions) => Promise<Response>;

interface CallOptions {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** Makes calls in the name of the token's owner, or of the browser's. */
export function createCall({ origin, token, fetch: given = (...args) => fetch(...args) }: CallParts): Call {
  const login: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };

  async function send(method: string, url: string, { body, headers, signal }: CallOptions): Promise<Response> {
    try {
      return await given(`${origin}${url}`, {
        method,
        headers: { ...login, ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      throw lost(error, signal);
    }
  }

  return async (method, url, options = {}) => {
    const response = await send(method, url, options);
    if (response.ok) return response;
    const problem = Problem.safeParse(await readJson(response, options.signal));
    if (!problem.success) {
      throw new TransportError(response.status, 'unreadable', `Not an answer of Callboard: status ${response.status}.`);
    }
    const { status, code, detail, decision = null } = problem.data;
    throw new TransportError(status, code, detail, { decision });
  };
}

/** The body; undefined where it is not JSON. Rejects with `network` when the connection ends within it. */
export async function readJson(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  const text = await response.text().catch((error: unknown) => {
    throw lost(error, signal);
  });
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function lost(cause: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted === true) return signal.reason;
  const words = 'Callboard did not answer; look at the state before trying again.';
  return new TransportError(0, 'network', words, { cause });
}
