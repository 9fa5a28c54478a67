import { type Decision, Problem, type ProblemCode } from '@callboard/contract';
import { type ZodType, z } from 'zod';
import { pageFetch } from './page-proof.ts';

/** `network`: no answer came, nobody knows what happened. `unreadable`: an answer came that is not ours. */
export type ApiErrorCode = ProblemCode | 'network' | 'unreadable';

/** A call that did not succeed. `message` says in words what happened and what to do. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: ApiErrorCode;
  /** With a conflict: the decision that stands. */
  readonly decision: Decision | null;

  constructor(status: number, code: ApiErrorCode, detail: string, decision: Decision | null = null) {
    super(detail);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.decision = decision;
  }
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

interface Call<T> {
  method?: Method;
  body?: unknown;
  reply: ZodType<T>;
  signal?: AbortSignal;
  /** Goes out even when the page is left meanwhile. */
  keepalive?: boolean;
}

/** A reply whose body does not matter. */
export const Nothing = z.unknown();

/** One call to the web server; its reply is checked here, once. */
export async function call<T>(path: string, { reply, ...request }: Call<T>): Promise<T> {
  const { response, data } = await send(path, request);
  if (!response.ok) throw problemOf(response.status, data);
  const parsed = reply.safeParse(data);
  if (!parsed.success) throw new ApiError(response.status, 'unreadable', unreadable(z.prettifyError(parsed.error)));
  return parsed.data;
}

/** Sends it, and reads the whole answer: a connection may break in the middle of it. */
async function send(
  path: string,
  request: Omit<Call<unknown>, 'reply'>,
): Promise<{ response: Response; data: unknown }> {
  const { method = 'GET', body, signal, keepalive = false } = request;
  try {
    const response = await pageFetch(path, {
      method,
      keepalive,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    return { response, data: jsonOf(await response.text()) };
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw unanswered();
  }
}

/** No answer came, or half of one. */
export const unanswered = () =>
  new ApiError(0, 'network', 'Callboard did not answer. Nothing here was lost; try again once it is back.');

function jsonOf(text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function problemOf(status: number, data: unknown): ApiError {
  const problem = Problem.safeParse(data);
  if (!problem.success) return new ApiError(status, 'unreadable', unreadable(`status ${status}`));
  return new ApiError(status, problem.data.code, problem.data.detail, problem.data.decision ?? null);
}

const unreadable = (what: string) =>
  `Callboard gave an answer that this page does not understand (${what}). Reload the page; it may be older than the server.`;

/** Worth another try by itself: the server is not there, or not there yet. */
export const isTransient = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.code === 'network' || error.code === 'page_not_proven' || error.status === 503 || error.status === 502);

/** The login is over; a page that is not proved yet, or not any more, proves itself. */
export const isLoggedOut = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 401 && error.code !== 'page_not_proven';

/** The content of a file that the server makes, whole; rejects where it breaks off. */
export async function download(path: string): Promise<Blob> {
  try {
    const response = await pageFetch(path);
    if (response.ok) return await response.blob();
    throw problemOf(response.status, jsonOf(await response.text()));
  } catch (error) {
    throw error instanceof ApiError ? error : unanswered();
  }
}

/** What an answer that is no success says. */
export const refusalOf = async (response: Response): Promise<ApiError> =>
  problemOf(response.status, jsonOf(await response.text()));

/** What went wrong, for a person. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
