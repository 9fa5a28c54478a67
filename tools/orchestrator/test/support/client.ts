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
  type TextDelta,
  TextDeltaFrame,
  type TranscriptEntry,
} from '@callboard/contract';
import { WebSocket } from 'ws';

/** Long enough for a slow machine; a test that needs it all has failed. */
const PATIENCE_MS = 60_000;

/** What the orchestrator refused, and how. */
class Refused extends Error {
  readonly code: string;
  readonly decision: unknown;

  constructor(error: { code: string; message: string; decision?: unknown }) {
    super(`${error.code}: ${error.message}`);
    this.code = error.code;
    this.decision = error.decision;
  }
}

/** A client of the orchestrator's WebSocket that remembers everything it was told. */
export interface TestClient {
  readonly init: InitFrame;
  readonly events: BoardEvent[];
  readonly deltas: TextDelta[];
  command<T extends CommandType>(type: T, fields?: Record<string, unknown>): Promise<CommandReply<T>>;
  /** The first event, past or future, that fits. */
  event<T extends BoardEvent['type']>(
    type: T,
    fits?: (data: Extract<BoardEvent, { type: T }>['data']) => boolean,
  ): Promise<Extract<BoardEvent, { type: T }>['data']>;
  /** Resolves when the newest state of the stage's session is this. */
  state(stageId: string, state: string): Promise<void>;
  transcript(stageId: string): Promise<TranscriptEntry[]>;
  /** Resolves when the newest that the board says of the machine fits. */
  notices(fits: (notices: BoardNotices) => boolean): Promise<void>;
  close(): void;
}

export async function connect(port: number, secret: string): Promise<TestClient> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers: { authorization: `Bearer ${secret}` } });
  const events: BoardEvent[] = [];
  const deltas: TextDelta[] = [];
  let newest: BoardNotices | undefined;
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
    else if (frame.type === 'notices_updated') newest = NoticesFrame.parse(frame).data;
    else events.push({ ...frame, type: eventName(frame.type) });
    for (const watcher of watchers) watcher();
  });
  const init = await opened;

  async function until<T>(what: string, look: () => T | undefined): Promise<T> {
    const seen = look();
    if (seen !== undefined) return seen;
    const { promise, resolve, reject: fail } = Promise.withResolvers<T>();
    const watcher = () => {
      const found = look();
      if (found !== undefined) resolve(found);
    };
    watchers.add(watcher);
    const tell = () => fail(new Error(`waited in vain for ${what}; seen: ${events.map((e) => e.type).join(' ')}`));
    const timer = setTimeout(tell, PATIENCE_MS);
    return promise.finally(() => {
      clearTimeout(timer);
      watchers.delete(watcher);
    });
  }

  let lastId = 0;
  const client: TestClient = {
    init,
    events,
    deltas,
    async command(type, fields = {}) {
      const id = String(++lastId);
      const { promise, resolve } = Promise.withResolvers<ReplyFrame>();
      replies.set(id, resolve);
      socket.send(JSON.stringify({ type, id, actor: { name: 'Ada' }, ...fields }));
      const frame = await promise;
      replies.delete(id);
      if (!frame.ok) throw new Refused(frame.error);
      return commands[type].reply.parse(frame.data) as never;
    },
    event: (type, fits = () => true) =>
      until(`${type}`, () => {
        const found = events.find((event) => event.type === type && fits(event.data as never));
        return found?.data as never;
      }),
    async state(stageId, state) {
      await until(`${stageId} to be ${state}`, () => {
        const last = events
          .filter((event) => event.type === 'session-updated' && event.data.stageId === stageId)
          .at(-1);
        const before = init.data.stages.find((stage) => stage.id === stageId)?.session;
        const now = last?.type === 'session-updated' ? last.data.state : before?.state;
        return now === state ? true : undefined;
      });
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
    async notices(fits) {
      await until('notices', () => (fits(newest ?? init.data) ? true : undefined));
    },
    close: () => socket.terminate(),
  };
  return client;
}
