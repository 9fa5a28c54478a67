import {
  BoardNotices,
  type CommandType,
  type Credential,
  EventFrame,
  InitFrame,
  NoticesFrame,
  PROTOCOL_VERSION,
  ReplyFrame,
  type TextDelta,
  TextDeltaFrame,
} from '@callboard/contract';
import { mark } from '@callboard/runtime/marks';
import { WebSocket } from 'ws';
import type { z } from 'zod';
import { fromCommandError, OperationalError, OrchestratorUnreachable } from '../errors.ts';
import { cutEventFrame, type EventFrameText } from './told-event.ts';

/** The part of the init frame that is needed here; the rest of the board is asked for when somebody wants it. */
const InitHead = InitFrame.extend({ data: BoardNotices });
export type InitHead = z.infer<typeof InitHead>;

/** Each frame is read with the one schema of its type. */
const typeOf = (frame: unknown): unknown =>
  typeof frame === 'object' && frame !== null && 'type' in frame ? frame.type : undefined;

/** An event whose frame is not written as ours are. */
function eventFrame(frame: unknown): EventFrameText {
  const { data, ...head } = EventFrame.parse(frame);
  return { ...head, data: JSON.stringify(data ?? null) };
}

interface ConnectionHandlers {
  /** Called once, before any event. */
  init(head: InitHead): void;
  /** In the order of arrival. */
  event(frame: EventFrameText): void;
  textDelta(delta: TextDelta): void;
  notices(notices: BoardNotices): void;
}

export interface ConnectionParts {
  url: string;
  secret: string;
  heartbeatMs: number;
  handlers: ConnectionHandlers;
}

interface RequestOptions {
  timeoutMs: number;
  /** Whether it changes nothing, so that one may simply ask again. */
  isRead: boolean;
  credential?: Credential | undefined;
  signal?: AbortSignal | undefined;
}

/** One WebSocket to an orchestrator, from its upgrade to its end. */
export interface Connection {
  /**
   * Sends a command and waits for its reply's data. Rejects with the refusal, with OrchestratorUnreachable when there
   * is no connection, it ends first, or nothing is read in time; with `no_confirmation` after the time limit of anything
   * else, and with the signal's reason. Nothing is sent twice.
   */
  request(type: CommandType, input: object, options: RequestOptions): Promise<unknown>;
  /** Resolves once it is over, with the reason; never rejects. */
  readonly ended: Promise<string>;
  close(): void;
}

export const NOT_CONNECTED =
  'The orchestrator cannot be reached just now; nothing was changed. It is being tried again.';

const HANDSHAKE_MS = 5_000;
const SAME_VERSION = 'run both from the same version of Callboard';

/** Opens a connection; that it failed shows in `ended`. */
export function openConnection({ url, secret, heartbeatMs, handlers }: ConnectionParts): Connection {
  const socket = new WebSocket(url, {
    headers: { authorization: `Bearer ${secret}` },
    perMessageDeflate: false,
    handshakeTimeout: HANDSHAKE_MS,
  });
  const waiters = new Map<string, PromiseWithResolvers<unknown>>();
  let asked = 0;
  let alive = true;
  let reason = 'the orchestrator closed the connection';

  function fail(why: string): void {
    reason = why;
    socket.terminate();
  }

  const heartbeat = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (!alive) return fail('the orchestrator did not answer a heartbeat');
    alive = false;
    socket.ping();
  }, heartbeatMs);

  const { promise: ended, resolve: tellEnd } = Promise.withResolvers<string>();
  socket.once('close', () => {
    clearInterval(heartbeat);
    const lost = new OrchestratorUnreachable(
      'The connection to the orchestrator was lost before the reply; look at the state before trying again.',
    );
    for (const waiter of waiters.values()) waiter.reject(lost);
    waiters.clear();
    tellEnd(reason);
  });
  socket.on('error', (error) => {
    reason = error.message;
  });
  socket.on('pong', () => {
    alive = true;
  });
  socket.on('message', (data) => {
    alive = true;
    mark('frame received');
    try {
      const text = data.toString();
      const event = cutEventFrame(text);
      if (event === null) read(JSON.parse(text));
      else handlers.event(event);
    } catch (error) {
      fail(`the orchestrator sent a frame that cannot be read: ${error instanceof Error ? error.message : error}`);
    }
  });

  function read(frame: unknown): void {
    switch (typeOf(frame)) {
      case 'init':
        readInit(InitHead.parse(frame));
        break;
      case 'reply':
        readReply(ReplyFrame.parse(frame));
        break;
      case 'text_delta':
        handlers.textDelta(TextDeltaFrame.parse(frame).data);
        break;
      case 'notices_updated':
        handlers.notices(NoticesFrame.parse(frame).data);
        break;
      default:
        handlers.event(eventFrame(frame));
    }
  }

  function readInit(head: InitHead): void {
    if (head.protocol === PROTOCOL_VERSION) handlers.init(head);
    else
      fail(`the orchestrator speaks protocol ${head.protocol}, this web server ${PROTOCOL_VERSION}; ${SAME_VERSION}`);
  }

  function readReply(reply: ReplyFrame): void {
    const waiter = waiters.get(reply.id);
    if (reply.ok) waiter?.resolve(reply.data);
    else waiter?.reject(fromCommandError(reply.error));
  }

  async function request(type: CommandType, input: object, { timeoutMs, isRead, credential, signal }: RequestOptions) {
    signal?.throwIfAborted();
    if (socket.readyState !== WebSocket.OPEN) throw new OrchestratorUnreachable(NOT_CONNECTED);
    asked += 1;
    const id = String(asked); // names the reply on this connection
    const waiter = Promise.withResolvers<unknown>();
    const seconds = Math.round(timeoutMs / 1000);
    const timer = setTimeout(() => {
      const words = `The orchestrator did not answer within ${seconds} s`;
      waiter.reject(
        isRead
          ? new OrchestratorUnreachable(`${words}. Nothing was changed; try again in a moment.`)
          : new OperationalError('no_confirmation', `${words}; look at the state before trying again.`),
      );
    }, timeoutMs);
    const onAbort = () => waiter.reject(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    waiters.set(id, waiter);
    try {
      mark('command sent', type);
      socket.send(JSON.stringify({ ...input, type, id, credential }));
      return await waiter.promise;
    } finally {
      waiters.delete(id);
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  return { request, ended, close: () => socket.terminate() };
}
