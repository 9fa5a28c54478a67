import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Choice, chooseReply } from './choose.ts';
import { deliver, sendJson } from './deliver.ts';
import { errorBody, failureOf } from './failures.ts';
import { createGates } from './gates.ts';
import { MessagesRequest, textsOf } from './messages-request.ts';
import { estimateTokens } from './reply.ts';
import { createRequestLog, type LoggedRequest, type WaitOptions } from './request-log.ts';
import { Script } from './script.ts';

const MAX_REQUESTS = 5_000;

export type ScriptedModelOptions = {
  port?: number;
  host?: string;
  /** Scripts that prompts made with `named` refer to. */
  scripts?: Record<string, Script>;
  /** How many of the newest requests stay in `requests` (5000); each holds its whole conversation. */
  maxRequests?: number;
  /** Called with each request to the model as it arrives. */
  log?: (request: LoggedRequest) => void;
};

export type ScriptedModel = {
  /** The base URL for `ANTHROPIC_BASE_URL`. */
  url: string;
  /** The requests to the model, in order. */
  requests: readonly LoggedRequest[];
  /** Resolves with the first matching request, past or future. Rejects after `timeoutMs` (a minute), with `signal`, or on close. */
  waitForRequest: (predicate: (request: LoggedRequest) => boolean, options?: WaitOptions) => Promise<LoggedRequest>;
  setScript: (name: string, script: Script) => void;
  /** Opens a gate permanently, for waiting and for later replies. */
  release: (gate: string) => void;
  /** Forgets all gates and scripts, as if it had just started; the requests stay. */
  reset: () => void;
  /** Closes all connections at once, including hanging ones. May be called twice. */
  close: () => Promise<void>;
};

/** Starts a scripted stand-in for the Messages API on loopback. */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const closing = new AbortController();
  const log = createRequestLog(closing.signal, options.maxRequests ?? MAX_REQUESTS);
  let gates = createGates();
  const scripts = new Map(Object.entries(options.scripts ?? {}).map(([name, script]) => [name, Script.parse(script)]));
  const tries = new Map<string, number>();

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (incoming.url ?? '/').split('?')[0];
    const body = await text(incoming);
    if (incoming.method !== 'POST' || !path?.startsWith('/v1/messages')) return sendJson(response, 200, {});
    if (path.endsWith('/count_tokens')) return sendJson(response, 200, { input_tokens: estimateTokens(body) });
    const request = MessagesRequest.parse(JSON.parse(body));
    const choice = chooseReply(request, scripts);
    const sessionId = incoming.headers['x-claude-code-session-id']?.toString();
    record(request, choice, sessionId);
    const failure = failureOf(choice.reply, countTry(`${sessionId} ${choice.key}`));
    const signal = AbortSignal.any([closing.signal, goneSignal(response)]);
    await deliver({ response, request, step: choice.reply, failure, gates, signal });
  }

  function record(request: MessagesRequest, { kind, script, step }: Choice, sessionId: string | undefined): void {
    const system = textsOf(request.system).join('\n');
    const entry: LoggedRequest = {
      at: new Date().toISOString(),
      model: request.model,
      messages: request.messages,
      system,
      tools: (request.tools ?? []).map((tool) => tool.name),
      stream: request.stream ?? false,
      subagent: system.includes('cc_is_subagent=true'),
      sessionId,
      kind,
      script,
      step,
    };
    log.add(entry);
    options.log?.(entry);
  }

  function countTry(key: string): number {
    const before = tries.get(key) ?? 0;
    tries.set(key, before + 1);
    return before;
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => fail(response, error));
  });
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  let closed: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    closing.abort();
    const done = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await done;
  }

  return {
    url: urlOf(server),
    requests: log.requests,
    waitForRequest: log.waitFor,
    setScript: (name, script) => void scripts.set(name, Script.parse(script)),
    release: (gate) => gates.release(gate),
    reset() {
      gates = createGates();
      scripts.clear();
      tries.clear();
    },
    close: () => (closed ??= closeAll()),
  };
}

/** Last resort: refuses a request that could not be answered, cuts off a reply that could not be finished. */
function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const message = `scripted model: ${error instanceof Error ? error.message : String(error)}`;
  sendJson(response, 400, errorBody({ type: 'invalid_request_error', message }));
}

function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return gone.signal;
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
}
