import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '@callboard/runtime/waits';
import { type Choice, chooseReply } from './choose.ts';
import { type Message, MessagesRequest, textsOf } from './messages-request.ts';
import { buildReply, estimateTokens, hasContent, type ReadyBlock, type Reply } from './reply.ts';
import { Script, type Step } from './script.ts';

const MAX_REQUESTS = 5_000;

export type ScriptedModelOptions = {
  port?: number;
  host?: string;
  /** Scripts that prompts made with `named` refer to. */
  scripts?: Record<string, Script>;
  /** What it says where no script has an answer; "OK." by default. */
  unscripted?: string;
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
  const unscripted = options.unscripted === undefined ? undefined : { text: options.unscripted };
  const tries = new Map<string, number>();

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (incoming.url ?? '/').split('?')[0];
    const body = await text(incoming);
    if (incoming.method !== 'POST' || !path?.startsWith('/v1/messages')) return sendJson(response, 200, {});
    if (path.endsWith('/count_tokens')) return sendJson(response, 200, { input_tokens: estimateTokens(body) });
    const request = MessagesRequest.parse(JSON.parse(body));
    const choice = chooseReply(request, scripts, unscripted);
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

/** One attempt to deliver a step on a connection. */
export type Delivery = {
  response: ServerResponse;
  request: MessagesRequest;
  step: Step;
  failure: Failure | undefined;
  gates: Gates;
  /** Ends every wait: the connection is gone, or the model closes. */
  signal: AbortSignal;
};

/** Performs a step on a connection: waits, fails, streams or hangs as scripted. The signal aborts it. */
async function deliver(delivery: Delivery): Promise<void> {
  try {
    await perform(delivery);
  } catch (error) {
    if (!delivery.signal.aborted) throw error;
    delivery.response.destroy();
  }
}

/** Sends a JSON body and ends the reply. */
function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function perform(delivery: Delivery): Promise<void> {
  const { response, request, step, failure, gates, signal } = delivery;
  if (step.gate !== undefined) await Promise.race([gates.wait(step.gate), ended(signal)]);
  if (step.delayMs !== undefined) await sleep(step.delayMs, undefined, { signal });
  const headers = failure?.kind === 'http' ? failure.headers : step.headers;
  for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
  if (failure?.kind === 'http') return sendError(response, failure);
  if (failure?.kind === 'cut' && failure.when === 'before') return void response.destroy();
  if (step.hangs && !hasContent(step)) return ended(signal);
  if (request.stream) await streamReply(delivery);
  else await sendWhole(delivery);
}

async function streamReply({ response, request, step, failure, signal }: Delivery): Promise<void> {
  const events = eventsOf(step, request, failure);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const piece of piecesOf(events, step.chunkBytes)) {
    if (!response.write(piece)) await once(response, 'drain', { signal });
    if (step.chunkDelayMs !== undefined) await sleep(step.chunkDelayMs, undefined, { signal });
  }
  if (failure?.kind === 'cut') return cutOff(response, ': cut off\n\n');
  if (step.hangs) return ended(signal);
  response.end();
}

async function sendWhole({ response, request, step, failure, signal }: Delivery): Promise<void> {
  const body = JSON.stringify(wholeMessage(buildReply(step, request)));
  if (step.hangs) return ended(signal);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  if (failure?.kind !== 'cut') return void response.end(body);
  cutOff(response, body.slice(0, body.length / 2));
}

/** Closes the connection once the last bytes are sent. */
function cutOff(response: ServerResponse, lastWords: string): void {
  response.write(lastWords, () => response.destroy());
}

function eventsOf(step: Step, request: MessagesRequest, failure: Failure | undefined): StreamEvent[] {
  const events = streamEvents(buildReply(step, request), step.chunkChars);
  const half = events.slice(0, Math.ceil(events.length / 2));
  if (failure?.kind === 'cut') return half;
  if (failure?.kind === 'stream') return [...half, errorBody(failure)];
  return step.hangs ? events.filter(({ type }) => type !== 'message_delta' && type !== 'message_stop') : events;
}

function piecesOf(events: readonly StreamEvent[], size: number | undefined): Uint8Array[] {
  const frames = events.map((event) => Buffer.from(renderEvent(event)));
  return size === undefined ? frames : chunkBytes(Buffer.concat(frames), size);
}

function sendError(response: ServerResponse, failure: Extract<Failure, { kind: 'http' }>): void {
  if (failure.retryAfterSeconds !== undefined) response.setHeader('retry-after', String(failure.retryAfterSeconds));
  sendJson(response, failure.status, errorBody(failure));
}

/** Never resolves; rejects when the signal ends the wait. */
async function ended(signal: AbortSignal): Promise<never> {
  await untilAborted(signal);
  throw signal.reason;
}

/** How one attempt at a step fails. */
export type Failure =
  | ({ kind: 'http'; status: number; type: string; message: string } & Pick<
      NonNullable<Step['error']>,
      'retryAfterSeconds' | 'headers'
    >)
  | { kind: 'cut'; when: 'before' | 'during' }
  | { kind: 'stream'; type: string; message: string };

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

/** The failure of the n-th attempt (from 0) at a step, if any: errors first, then cuts, then errors in the stream. */
export function failureOf(step: Step, tries: number): Failure | undefined {
  const { error, cut, streamError } = step;
  if (error !== undefined && tries < (error.times ?? Number.POSITIVE_INFINITY)) {
    const type = error.type ?? TYPES[error.status] ?? 'api_error';
    const message = error.message ?? `Scripted ${type}`;
    const { status, retryAfterSeconds, headers } = error;
    return { kind: 'http', status, type, message, retryAfterSeconds, ...(headers && { headers }) };
  }
  const afterErrors = tries - (error?.times ?? 0);
  if (cut !== undefined && afterErrors < (step.cutTimes ?? Number.POSITIVE_INFINITY)) return { kind: 'cut', when: cut };
  const afterCuts = afterErrors - (cut === undefined ? 0 : (step.cutTimes ?? 0));
  if (streamError === undefined || afterCuts >= (streamError.times ?? Number.POSITIVE_INFINITY)) return undefined;
  const type = streamError.type ?? 'overloaded_error';
  return { kind: 'stream', type, message: streamError.message ?? `Scripted ${type}` };
}

/** The body of an error, in an HTTP reply and in a stream alike. */
function errorBody({ type, message }: { type: string; message: string }): StreamErrorBody {
  return { type: 'error', error: { type, message } };
}

type StreamErrorBody = { type: 'error'; error: { type: string; message: string } };

/** Named gates. A released gate stays open, whether or not someone waited for it. */
export type Gates = { wait: (gate: string) => Promise<void>; release: (gate: string) => void };

/** Creates gates that live as long as the model. A waiter whose connection is gone is simply forgotten. */
function createGates(): Gates {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  function gateOf(name: string): PromiseWithResolvers<void> {
    const gate = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, gate);
    return gate;
  }
  return { wait: (name) => gateOf(name).promise, release: (name) => gateOf(name).resolve() };
}

/** One server-sent event of the Messages API. */
export type StreamEvent = { type: string } & Record<string, unknown>;

/** The events of a streamed reply, in order. `chunkChars` bounds the text of each delta. */
export function streamEvents(reply: Reply, chunkChars?: number): StreamEvent[] {
  const { output_tokens, ...inputUsage } = reply.usage;
  return [
    { type: 'message_start', message: { ...emptyMessage(reply), usage: { ...inputUsage, output_tokens: 1 } } },
    { type: 'ping' },
    ...reply.blocks.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: emptyBlock(block) },
      ...deltasOf(block, chunkChars).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: reply.stopReason, stop_sequence: null },
      usage: { ...inputUsage, output_tokens },
    },
    { type: 'message_stop' },
  ];
}

/** Encodes an event for the wire. */
export function renderEvent(event: StreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The same reply as one JSON object, for a request without streaming. */
export function wholeMessage(reply: Reply): Record<string, unknown> {
  return {
    ...emptyMessage(reply),
    content: reply.blocks.map(wholeBlock),
    stop_reason: reply.stopReason,
    usage: reply.usage,
  };
}

/** Splits text into pieces of at most `size` characters, never within a surrogate pair. */
export function chunkText(text: string, size = Number.POSITIVE_INFINITY): string[] {
  if (text.length <= size) return text === '' ? [] : [text];
  const characters = Array.from(text);
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(''),
  );
}

/** Splits bytes into pieces of at most `size`, even within a character. */
export function chunkBytes(bytes: Uint8Array, size = Number.POSITIVE_INFINITY): Uint8Array[] {
  if (bytes.length <= size) return bytes.length === 0 ? [] : [bytes];
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

function emptyMessage({ id, model }: Reply): Record<string, unknown> {
  return { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null };
}

function emptyBlock(block: ReadyBlock): Record<string, unknown> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} };
  }
}

function deltasOf(block: ReadyBlock, chunkChars?: number): Record<string, unknown>[] {
  switch (block.type) {
    case 'text':
      return chunkText(block.text, chunkChars).map((text) => ({ type: 'text_delta', text }));
    case 'thinking':
      return [
        ...chunkText(block.thinking, chunkChars).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: block.signature },
      ];
    case 'tool_use':
      return chunkText(block.inputJson, chunkChars).map((part) => ({ type: 'input_json_delta', partial_json: part }));
  }
}

function wholeBlock(block: ReadyBlock): Record<string, unknown> {
  if (block.type !== 'tool_use') return block;
  return { type: 'tool_use', id: block.id, name: block.name, input: parseOrEmpty(block.inputJson) };
}

function parseOrEmpty(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

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
function createRequestLog(closing: AbortSignal, limit: number): RequestLog {
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

/**
 * A clean environment for `claude`: no account, none of the user's settings, and no address except the model's.
 * Passes on nothing of the parent's environment.
 */
export function claudeEnvironment(
  modelUrl: string,
  home: string,
  path = '/usr/local/bin:/usr/bin:/bin',
): Record<string, string> {
  return {
    PATH: path,
    HOME: home,
    SHELL: '/bin/bash', // without it, `claude` runs commands in zsh where that is installed
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'scripted-model',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  };
}
