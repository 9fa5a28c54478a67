import {
  type BoardEvent,
  BoardNotices,
  type CommandType,
  type Credential,
  EventFrame,
  type EventType,
  eventName,
  hasFieldsOf,
  type Idempotency,
  InitFrame,
  isEventType,
  NoticesFrame,
  type Peer,
  PROTOCOL_VERSION,
  ReplyFrame,
  SessionNowFrame,
  type SessionNowUpdate,
  type TextDelta,
  TextDeltaFrame,
} from '@callboard/contract';
import { mark } from '@callboard/runtime/marks';
import { WebSocket } from 'ws';
import type { z } from 'zod';
import { fromCommandError, OperationalError, OrchestratorUnreachable } from '../errors.ts';

/** The part of the init frame that is used here; the rest of the board is fetched on demand. */
const InitHead = InitFrame.extend({ data: BoardNotices });
export type InitHead = z.infer<typeof InitHead>;

const typeOf = (frame: unknown): unknown =>
  typeof frame === 'object' && frame !== null && 'type' in frame ? frame.type : undefined;

/** Reads the frame of an event that `cutEventFrame` could not cut. */
function eventFrame(frame: unknown): RawEventFrame {
  const { data, ...head } = EventFrame.parse(frame);
  return { ...head, data: JSON.stringify(data ?? null) };
}

interface ConnectionHandlers {
  /** Called once, before any event. */
  init(head: InitHead): void;
  /** In the order of arrival. */
  event(frame: RawEventFrame): void;
  textDelta(delta: TextDelta): void;
  sessionNow(update: SessionNowUpdate): void;
  notices(notices: BoardNotices): void;
}

export interface ConnectionOptions {
  url: string;
  secret: string;
  heartbeatMs: number;
  handlers: ConnectionHandlers;
}

interface RequestOptions {
  timeoutMs: number;
  /** It changes nothing, so asking again is harmless. */
  isRead: boolean;
  credential?: Credential | undefined;
  peer?: Peer | undefined;
  idempotency?: Idempotency | undefined;
  signal?: AbortSignal | undefined;
}

/** One WebSocket to an orchestrator, from its upgrade to its end. */
export interface Connection {
  /**
   * Sends a command and resolves with the data of its reply. Rejects with the refusal; with OrchestratorUnreachable if
   * there is no connection, and for a read if it ends first or after the time limit; for any other command with `reply_lost` or
   * `no_confirmation` then; and with the signal's reason. Nothing is sent twice.
   */
  request(type: CommandType, input: object, options: RequestOptions): Promise<unknown>;
  /** Resolves with the reason once the connection has ended; never rejects. */
  readonly ended: Promise<string>;
  close(): void;
}

export const NOT_CONNECTED = 'The orchestrator cannot be reached right now; nothing was changed. Retrying.';

const HANDSHAKE_MS = 5_000;
const SAME_VERSION = 'run both from the same version of Callboard';

/** Opens a connection. A failure to connect shows in `ended`. */
export function openConnection({ url, secret, heartbeatMs, handlers }: ConnectionOptions): Connection {
  const socket = new WebSocket(url, {
    headers: { authorization: `Bearer ${secret}` },
    perMessageDeflate: false,
    handshakeTimeout: HANDSHAKE_MS,
  });
  let reason = 'the orchestrator closed the connection';
  const { promise: ended, resolve: notifyEnd } = Promise.withResolvers<string>();

  function fail(why: string): void {
    reason = why;
    socket.terminate();
  }

  const requests = createRequests(socket);
  const heartbeat = startHeartbeat(socket, heartbeatMs, () => fail('the orchestrator did not answer a heartbeat'));
  socket.once('close', () => {
    heartbeat.stop();
    requests.rejectAll();
    notifyEnd(reason);
  });
  socket.on('error', (error) => {
    reason = error.message;
  });
  socket.on('message', (data) => {
    heartbeat.onSignOfLife();
    mark('frame received');
    try {
      const text = data.toString();
      const event = cutEventFrame(text);
      if (event === null) readFrame(JSON.parse(text), { handlers, onReply: requests.onReply, fail });
      else handlers.event(event);
    } catch (error) {
      fail(`the orchestrator sent a frame that cannot be read: ${error instanceof Error ? error.message : error}`);
    }
  });
  return { request: requests.request, ended, close: () => socket.terminate() };
}

/** Calls `onSilence` once the other side has left a ping unanswered for a whole interval. */
function startHeartbeat(socket: WebSocket, everyMs: number, onSilence: () => void) {
  let isAlive = true;
  const onSignOfLife = () => {
    isAlive = true;
  };
  socket.on('pong', onSignOfLife);
  const timer = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (!isAlive) return onSilence();
    isAlive = false;
    socket.ping();
  }, everyMs);
  return { onSignOfLife, stop: () => clearInterval(timer) };
}

interface FrameReaders {
  handlers: ConnectionHandlers;
  onReply: (reply: ReplyFrame) => void;
  fail: (why: string) => void;
}

function readFrame(frame: unknown, { handlers, onReply, fail }: FrameReaders): void {
  switch (typeOf(frame)) {
    case 'init': {
      const head = InitHead.parse(frame);
      if (head.protocol === PROTOCOL_VERSION) handlers.init(head);
      else
        fail(`the orchestrator speaks protocol ${head.protocol}, this web server ${PROTOCOL_VERSION}; ${SAME_VERSION}`);
      break;
    }
    case 'reply':
      onReply(ReplyFrame.parse(frame));
      break;
    case 'text_delta':
      handlers.textDelta(TextDeltaFrame.parse(frame).data);
      break;
    case 'session_now':
      handlers.sessionNow(SessionNowFrame.parse(frame).data);
      break;
    case 'notices_updated':
      handlers.notices(NoticesFrame.parse(frame).data);
      break;
    default:
      handlers.event(eventFrame(frame));
  }
}

/** Commands that were sent and wait for their reply. */
function createRequests(socket: WebSocket) {
  const waiters = new Map<string, PromiseWithResolvers<unknown> & { isRead: boolean }>();
  let sent = 0;

  return {
    async request(type: CommandType, input: object, options: RequestOptions): Promise<unknown> {
      const { timeoutMs, isRead, credential, peer, idempotency, signal } = options;
      signal?.throwIfAborted();
      if (socket.readyState !== WebSocket.OPEN) throw new OrchestratorUnreachable(NOT_CONNECTED);
      sent += 1;
      const id = String(sent); // names the reply on this connection
      const waiter = Promise.withResolvers<unknown>();
      const timer = setTimeout(() => waiter.reject(noReply(timeoutMs, isRead)), timeoutMs);
      const onAbort = () => waiter.reject(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      waiters.set(id, { ...waiter, isRead });
      try {
        mark('command sent', type);
        socket.send(JSON.stringify({ ...input, type, id, credential, peer, idempotency }));
        return await waiter.promise;
      } finally {
        waiters.delete(id);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      }
    },
    onReply(reply: ReplyFrame): void {
      const waiter = waiters.get(reply.id);
      if (reply.ok) waiter?.resolve(reply.data);
      else waiter?.reject(fromCommandError(reply.error));
    },
    rejectAll(): void {
      for (const { isRead, reject } of waiters.values()) reject(lostReply(isRead));
      waiters.clear();
    },
  };
}

function lostReply(isRead: boolean): Error {
  const text = 'The connection to the orchestrator was lost before the reply';
  return isRead
    ? new OrchestratorUnreachable(`${text}. Nothing was changed; try again in a moment.`)
    : new OrchestratorUnreachable(`${text}; look at the state before trying again.`, 'reply_lost');
}

function noReply(timeoutMs: number, isRead: boolean): Error {
  const text = `The orchestrator did not answer within ${Math.round(timeoutMs / 1000)} s`;
  return isRead
    ? new OrchestratorUnreachable(`${text}. Nothing was changed; try again in a moment.`)
    : new OperationalError('no_confirmation', `${text}; look at the state before trying again.`);
}

/** An event on its way through. Its data stay the text that the orchestrator wrote: nothing here reads more than a few fields. */
export interface RawEvent {
  type: EventType;
  seq: number;
  at: string;
  /** JSON. */
  data: string;
}

/** The frame of an event before its name is checked. */
export interface RawEventFrame extends Omit<RawEvent, 'type'> {
  type: string;
}

/** How the orchestrator starts the frame of an event; an object and the end of the frame follow. */
const HEAD = /^\{"type":"([a-z_]+)","seq":(\d{1,15}),"at":"([\dTZ:.-]+)","data":(?=\{)/;

/**
 * Cuts the frame of an event as our orchestrator writes it: `data` comes last, on a single line. Returns null for any other
 * frame, which has to be parsed.
 */
export function cutEventFrame(text: string): RawEventFrame | null {
  const [head, type, seq, at] = HEAD.exec(text) ?? [];
  if (head === undefined || type === undefined || at === undefined || !text.endsWith('}}')) return null;
  return { type, seq: Number(seq), at, data: text.slice(head.length, -1) };
}

/** Checks an event of our own orchestrator; null if it lacks the name, the number or the fields of one. */
export function checkEvent(frame: RawEventFrame): RawEvent | null {
  const { seq, data } = frame;
  const type = eventName(frame.type);
  if (!isEventType(type) || seq < 1 || !data.startsWith('{')) return null;
  return hasFieldsOf(type, (name) => data.includes(`"${name}":`)) ? { ...frame, type } : null;
}

export const toRawEvent = ({ type, seq, at, data }: BoardEvent): RawEvent => ({
  type,
  seq,
  at,
  data: JSON.stringify(data),
});
