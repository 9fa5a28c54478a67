import {
  type BoardEvent,
  type BoardNotices,
  type CommandReply,
  type CommandType,
  commands,
  eventName,
  InitFrame,
  NoticesFrame,
  ReplyFrame,
  SessionNowFrame,
  type SessionNowUpdate,
  type TextDelta,
  TextDeltaFrame,
  type TranscriptEntry,
} from '@callboard/contract';
import { WebSocket } from 'ws';
import { waitFor } from '../../../../test-support/until.ts';

/** How long to wait if it is more than usual. */
export interface Limit {
  withinMs?: number;
}

/** A command that the orchestrator refused, with its code. */
class Refused extends Error {
  readonly code: string;
  readonly decision: unknown;

  constructor(error: { code: string; message: string; decision?: unknown }) {
    super(`${error.code}: ${error.message}`);
    this.code = error.code;
    this.decision = error.decision;
  }
}

/** A client of the orchestrator's WebSocket that remembers everything it receives. */
export interface TestClient {
  readonly init: InitFrame;
  readonly events: BoardEvent[];
  readonly deltas: TextDelta[];
  readonly nows: SessionNowUpdate[];
  command<T extends CommandType>(type: T, fields?: Record<string, unknown>): Promise<CommandReply<T>>;
  /** Resolves with the first event, past or future, that fits. */
  event<T extends BoardEvent['type']>(
    type: T,
    fits?: (data: Extract<BoardEvent, { type: T }>['data']) => boolean,
    limit?: Limit,
  ): Promise<Extract<BoardEvent, { type: T }>['data']>;
  /** Resolves when the stage's session is in this state. */
  state(stageId: string, state: string, limit?: Limit): Promise<void>;
  transcript(stageId: string): Promise<TranscriptEntry[]>;
  /** Resolves when the newest notices of the board fit. */
  notices(fits: (notices: BoardNotices) => boolean, limit?: Limit): Promise<void>;
  close(): void;
}

/** A connection that keeps everything it receives, and calls its watchers after each frame. */
async function openConnection(port: number, secret: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers: { authorization: `Bearer ${secret}` } });
  const events: BoardEvent[] = [];
  const deltas: TextDelta[] = [];
  const nows: SessionNowUpdate[] = [];
  let notices: BoardNotices | undefined;
  const replies = new Map<string, (frame: ReplyFrame) => void>();
  const watchers = new Set<() => void>();
  const { promise: opened, resolve: onInit, reject } = Promise.withResolvers<InitFrame>();
  socket.on('error', reject);
  socket.on('close', () => reject(new Error('closed')));
  socket.on('message', (data) => {
    const frame = JSON.parse(String(data));
    if (frame.type === 'init') onInit(InitFrame.parse(frame));
    else if (frame.type === 'reply') replies.get(frame.id)?.(ReplyFrame.parse(frame));
    else if (frame.type === 'text_delta') deltas.push(TextDeltaFrame.parse(frame).data);
    else if (frame.type === 'session_now') nows.push(SessionNowFrame.parse(frame).data);
    else if (frame.type === 'notices_updated') notices = NoticesFrame.parse(frame).data;
    else events.push({ ...frame, type: eventName(frame.type) });
    for (const watcher of watchers) watcher();
  });
  const init = await waitFor('the first frame of the orchestrator', opened);

  /** Resolves with the result of `look`, which runs after each frame until it finds something. */
  async function find<T>(what: string, check: () => T | undefined, limit: Limit = {}): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const watcher = () => {
      const found = check();
      if (found !== undefined) resolve(found);
    };
    watchers.add(watcher);
    watcher();
    const lastSeen = () => `the events ${events.map(({ type }) => type).join(' ')}`;
    return waitFor(what, promise, { ...limit, lastSeen }).finally(() => watchers.delete(watcher));
  }

  let lastId = 0;
  /** Sends a command. Resolves with the data of its reply. */
  async function send(type: CommandType, fields: Record<string, unknown>): Promise<unknown> {
    const id = String(++lastId);
    const { promise, resolve } = Promise.withResolvers<ReplyFrame>();
    replies.set(id, resolve);
    socket.send(JSON.stringify({ type, id, actor: { name: 'Ada' }, ...fields }));
    const frame = await waitFor(`the reply to ${type}`, promise);
    replies.delete(id);
    if (!frame.ok) throw new Refused(frame.error);
    return frame.data;
  }

  return {
    init,
    events,
    deltas,
    nows,
    find,
    send,
    notices: () => notices ?? init.data,
    close: () => socket.terminate(),
  };
}

/** Connects to an orchestrator; resolves when its first frame has arrived. */
export async function connect(port: number, secret: string): Promise<TestClient> {
  const { init, events, deltas, nows, find, send, notices, close } = await openConnection(port, secret);
  const client: TestClient = {
    init,
    events,
    deltas,
    nows,
    command: async (type, fields = {}) => commands[type].reply.parse(await send(type, fields)) as never,
    event: (type, fits = () => true, limit) =>
      find(
        `the event ${type}`,
        () => {
          const found = events.find((event) => event.type === type && fits(event.data as never));
          return found?.data as never;
        },
        limit,
      ),
    async state(stageId, state, limit) {
      const before = init.data.stages.find((stage) => stage.id === stageId)?.session;
      const check = () => {
        const last = events.findLast((event) => event.type === 'session-updated' && event.data.stageId === stageId);
        const now = last?.type === 'session-updated' ? last.data.state : before?.state;
        return now === state ? true : undefined;
      };
      await find(`${stageId} to be ${state}`, check, limit);
    },
    async transcript(stageId) {
      const entries: TranscriptEntry[] = [];
      while (entries[0]?.index !== 1) {
        const page = await client.command('get_transcript', { stageId, before: entries[0]?.index });
        if (page.entries.length === 0) break;
        entries.unshift(...page.entries);
      }
      return entries;
    },
    async notices(fits, limit) {
      await find('notices that fit', () => (fits(notices()) ? true : undefined), limit);
    },
    close,
  };
  return client;
}
