import type { Choice } from './choose.ts';
import type { Message } from './messages-request.ts';

/** A request to the model, and the chosen reply. */
export type LoggedRequest = {
  /** When it arrived, as an ISO time. */
  at: string;
  model: string;
  messages: readonly Message[];
  system: string;
  /** The names of the tools that were offered. */
  tools: readonly string[];
  stream: boolean;
  /** The CLI session that sent it, if it says so. */
  sessionId: string | undefined;
  /** A subagent sent it, in its own conversation. */
  subagent: boolean;
  kind: Choice['kind'];
  /** The script's name, or `inline` for a script in the prompt. */
  script: string | undefined;
  step: number | undefined;
};

export type WaitOptions = { signal?: AbortSignal; timeoutMs?: number };

export type RequestLog = {
  requests: readonly LoggedRequest[];
  add: (request: LoggedRequest) => void;
  waitFor: (predicate: (request: LoggedRequest) => boolean, options?: WaitOptions) => Promise<LoggedRequest>;
};

const DEFAULT_TIMEOUT_MS = 60_000;

/** A log of the newest requests that can be awaited. Waits end with the model's own signal at the latest. */
export function createRequestLog(closing: AbortSignal, limit: number): RequestLog {
  const requests: LoggedRequest[] = [];
  const watchers = new Set<(request: LoggedRequest) => void>();
  return {
    requests,
    add(request) {
      requests.push(request);
      if (requests.length > limit) requests.shift();
      for (const watch of watchers) watch(request);
    },
    async waitFor(predicate, { signal, timeoutMs } = {}) {
      const earlier = requests.find(predicate);
      if (earlier !== undefined) return earlier;
      const limits = [closing, signal, endOf(signal, timeoutMs)].filter((limit) => limit !== undefined);
      const ended = AbortSignal.any(limits);
      const { promise, resolve, reject } = Promise.withResolvers<LoggedRequest>();
      const watch = (request: LoggedRequest) => predicate(request) && resolve(request);
      const giveUp = () => reject(new Error('the awaited request did not come', { cause: ended.reason }));
      watchers.add(watch);
      ended.addEventListener('abort', giveUp, { once: true });
      if (ended.aborted) giveUp();
      return promise.finally(() => {
        watchers.delete(watch);
        ended.removeEventListener('abort', giveUp);
      });
    },
  };
}

function endOf(signal: AbortSignal | undefined, timeoutMs: number | undefined): AbortSignal | undefined {
  if (signal !== undefined && timeoutMs === undefined) return undefined;
  return AbortSignal.timeout(timeoutMs ?? DEFAULT_TIMEOUT_MS);
}
