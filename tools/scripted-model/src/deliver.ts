import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '@callboard/runtime/waits';
import { errorBody, type Failure } from './failures.ts';
import type { Gates } from './gates.ts';
import type { MessagesRequest } from './messages-request.ts';
import { buildReply, hasContent } from './reply.ts';
import type { Step } from './script.ts';
import { chunkBytes, renderEvent, type StreamEvent, streamEvents, wholeMessage } from './sse.ts';

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
export async function deliver(delivery: Delivery): Promise<void> {
  try {
    await perform(delivery);
  } catch (error) {
    if (!delivery.signal.aborted) throw error;
    delivery.response.destroy();
  }
}

/** Sends a JSON body and ends the reply. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
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
