/**
 * The other side of the WebSocket, at the edge of the process: it speaks the contract's frames and keeps an event log.
 * Its insides can be used without the WebSocket as well, as a program in the orchestrator's own process would.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import {
  type BoardEvent,
  type BoardNotices,
  CommandFrame,
  type CommandInput,
  type CommandReply,
  type CommandType,
  commands,
  PROTOCOL_VERSION,
  type ProblemCode,
  type StageId,
  type TextDelta,
  wireName,
} from '@callboard/contract';
import { type WebSocket, WebSocketServer } from 'ws';
import { board, modeChanged } from './samples.ts';

/** Thrown by a handler: the command is refused with this. */
export class Refusal extends Error {
  readonly error: { code: ProblemCode; message: string; decision?: unknown };
  constructor(code: ProblemCode, message: string, decision?: unknown) {
    super(message);
    this.error = decision === undefined ? { code, message } : { code, message, decision };
  }
}

interface Received {
  type: CommandType;
  input: unknown;
  actor: string | undefined;
}

type Handler<T extends CommandType> = (input: CommandInput<T>) => CommandReply<T> | Promise<CommandReply<T>>;
type Watch = (stageIds: readonly StageId[]) => void;
type Handlers = { [T in CommandType]?: Handler<T> };

export const SECRET = 'a secret between two parts';
export const GOOD_TOKEN = 'a-good-token';

/** Waits for ever: the command is never answered. */
export const noAnswer = (): Promise<never> => new Promise(() => undefined);

export function createFakeOrchestrator(options: { protocol?: number; autoPong?: boolean; secret?: string } = {}) {
  const { protocol = PROTOCOL_VERSION, autoPong = true, secret = SECRET } = options;
  const events: BoardEvent[] = [];
  const received: Received[] = [];
  const loginCodes = new Set<string>();
  const eventListeners = new Set<(event: BoardEvent) => void>();
  const deltaListeners = new Set<(delta: TextDelta) => void>();
  const logins = new Map([[GOOD_TOKEN, 'Ann']]);
  let server: WebSocketServer | null = null;
  let port = 0;
  /** Events up to this one are no longer kept. */
  let pruned = 0;
  let upgrades = 0;

  const seq = () => events.at(-1)?.seq ?? pruned;

  const handlers: Handlers = {
    get_board: () => board(seq()),
    get_events: ({ since, limit = 1000 }) => {
      const resync = since < pruned || since > seq();
      return { events: resync ? [] : events.filter((event) => event.seq > since).slice(0, limit), resync };
    },
    watch: () => ({}),
    auth_check: ({ secret: shown }) => {
      const name = logins.get(shown);
      if (name === undefined) throw new Refusal('not_logged_in', 'This login is not known; sign in again.');
      return { actor: { name } };
    },
    auth_redeem: ({ code }) => {
      if (!loginCodes.delete(code)) throw new Refusal('bad_login_link', 'The link was used or has expired.');
      const issued = `login-from-${code}`;
      logins.set(issued, 'Ben');
      return { secret: issued, actor: { name: 'Ben' }, expiresAt: '2099-01-01T00:00:00.000Z' };
    },
    auth_logout: ({ secret: shown }) => {
      logins.delete(shown);
      return {};
    },
  };

  /** Carries out a command frame; the reply frame. */
  async function execute(text: string, watch: Watch): Promise<object> {
    const { type, id, actor, ...rest } = CommandFrame.parse(JSON.parse(text));
    const input = commands[type].input.parse(rest);
    received.push({ type, input, actor: actor?.name });
    if (type === 'watch') watch(commands.watch.input.parse(input).stageIds);
    const reply = await runHandler(type, input).catch((error: unknown) => {
      if (error instanceof Refusal) return { ok: false, error: error.error };
      throw error;
    });
    return { type: 'reply', id, ...reply };
  }

  async function answer(socket: WebSocket, text: string): Promise<void> {
    socket.send(JSON.stringify(await execute(text, () => undefined)));
  }

  async function runHandler(type: CommandType, input: unknown): Promise<object> {
    const handler = handlers[type] as ((input: unknown) => unknown) | undefined; // parsed by the schema of this type
    if (handler === undefined) throw new Error(`the test did not expect ${type}`);
    return { ok: true, data: await handler(input) };
  }

  function broadcast(frame: object): void {
    for (const client of server?.clients ?? []) client.send(JSON.stringify(frame));
  }

  async function start(): Promise<void> {
    server = new WebSocketServer({
      port,
      host: '127.0.0.1',
      autoPong,
      verifyClient: ({ req }: { req: { headers: { authorization?: string } } }) => {
        upgrades += 1;
        return req.headers.authorization === `Bearer ${secret}`;
      },
    });
    server.on('connection', (socket) => {
      socket.on('message', (data) => void answer(socket, data.toString()));
      socket.send(JSON.stringify({ type: 'init', protocol, version: '0.1.0', seq: seq(), data: board(seq()) }));
    });
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port; // it listens on a port
  }

  /** As if it were killed: connections end without a word. What it stored stays. */
  async function kill(): Promise<void> {
    const stopping = server;
    server = null;
    for (const client of stopping?.clients ?? []) client.terminate();
    await new Promise<void>((resolve) => (stopping === null ? resolve() : stopping.close(() => resolve())));
  }

  function store(event: BoardEvent): BoardEvent {
    events.push(event);
    return event;
  }

  return {
    handlers,
    received,
    execute,
    notices: (data: BoardNotices) => broadcast({ type: 'notices_updated', data }),
    onEvent: (listener: (event: BoardEvent) => void) => listenWith(eventListeners, listener),
    onTextDelta: (listener: (delta: TextDelta) => void) => listenWith(deltaListeners, listener),
    loginCodes,
    logins,
    events,
    start,
    kill,
    seq,
    url: () => `ws://127.0.0.1:${port}`,
    upgrades: () => upgrades,
    connections: () => server?.clients.size ?? 0,
    broadcast,
    /** Stores the next event without sending it. */
    store: (bytes?: number) => store(modeChanged(seq() + 1, bytes)),
    /** Stores the next event and sends it. */
    emit(bytes?: number): BoardEvent {
      const event = store(modeChanged(seq() + 1, bytes));
      broadcast({ ...event, type: wireName(event.type) });
      for (const listener of eventListeners) listener(event);
      return event;
    },
    textDelta(data: TextDelta): void {
      broadcast({ type: 'text_delta', data });
      for (const listener of deltaListeners) listener(data);
    },
    /** Forgets the events up to `upTo`. */
    prune(upTo: number): void {
      pruned = upTo;
      events.splice(0, events.findLastIndex((event) => event.seq <= upTo) + 1);
    },
    /** Another data directory: an empty log. */
    startOver(): void {
      pruned = 0;
      events.length = 0;
    },
    dropConnections(): void {
      for (const client of server?.clients ?? []) client.terminate();
    },
    /** The inputs of the commands of one type, in order. */
    inputsOf: (type: CommandType): unknown[] => received.filter((r) => r.type === type).map((r) => r.input),
  };
}

function listenWith<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
