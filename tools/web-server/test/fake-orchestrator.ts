/**
 * The other side of the WebSocket, at the edge of the process: it speaks the contract's frames and keeps an event log.
 * Its parts also work without the WebSocket, as a program in the orchestrator's own process would use them.
 */
import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import {
  type BoardEvent,
  type BoardNotices,
  boardCounts,
  CommandFrame,
  type CommandInput,
  type CommandReply,
  type CommandType,
  type Credential,
  commands,
  type PageKey,
  PROTOCOL_VERSION,
  type ProblemCode,
  proofText,
  type StageId,
  type TextDelta,
  wireName,
} from '@callboard/contract';
import { WebSocketServer } from 'ws';
import { board, modeChanged } from './samples.ts';

/** Thrown by a handler: refuses the command with this error. */
export class Refusal extends Error {
  readonly error: { code: ProblemCode; message: string; decision?: unknown };
  constructor(code: ProblemCode, message: string, decision?: unknown) {
    super(message);
    this.error = decision === undefined ? { code, message } : { code, message, decision };
  }
}

interface Received {
  idempotency?: CommandFrame['idempotency'];
  type: CommandType;
  input: unknown;
  actor: string | undefined;
}

/** The sender of a command. */
interface RowCaches {
  name: string;
  /** Set for a page. */
  login: { loginId: string; key: PageKey; origin: string } | null;
}

type Handler<T extends CommandType> = (
  input: CommandInput<T>,
  caches?: RowCaches | null,
) => CommandReply<T> | Promise<CommandReply<T>>;
type Watch = (stageIds: readonly StageId[]) => void;
type Handlers = { [T in CommandType]?: Handler<T> };

export const SECRET = 'a secret between two parts';
export const GOOD_TOKEN = 'a-good-token';

const AT = '2026-01-02T03:04:05.678Z';

const isSigned = (key: PageKey, text: string, signature: string): boolean => {
  const publicKey = createPublicKey({ key: { ...key }, format: 'jwk' });
  const given = Buffer.from(signature, 'base64url');
  return verify('sha256', Buffer.from(text), { key: publicKey, dsaEncoding: 'ieee-p1363' }, given);
};

/** Never resolves: the command gets no answer. */
export const noAnswer = (): Promise<never> => new Promise(() => undefined);

/** The event log: the stored events, and the oldest kept number. */
function createEventLog() {
  const events: BoardEvent[] = [];
  /** Events up to this one are no longer kept. */
  let pruned = 0;
  const seq = () => events.at(-1)?.seq ?? pruned;
  return {
    events,
    seq,
    store(event: BoardEvent): BoardEvent {
      events.push(event);
      return event;
    },
    /** The answer to `get_events`. */
    since(since: number, limit: number) {
      const resync = since < pruned || since > seq();
      return { events: resync ? [] : events.filter((event) => event.seq > since).slice(0, limit), resync };
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
  };
}

/** The logins that may send commands. @param onEnd is called when a login ends */
function createLogins(onEnd: (loginId: string) => void) {
  const loginCodes = new Set<string>();
  /** API tokens with the names of their owners. */
  const logins = new Map([[GOOD_TOKEN, 'Ann']]);
  /** Pages, by the secret of their cookie. */
  const pages = new Map<string, RowCaches>();

  function endLogin(loginId: string): void {
    for (const [secret, { login }] of pages) if (login?.loginId === loginId) pages.delete(secret);
    onEnd(loginId);
  }

  const handlers: Handlers = {
    auth_check: (_, known) => ({ actor: { name: known?.name ?? '' }, loginId: known?.login?.loginId ?? null }),
    auth_redeem: ({ code, key, origin, browser }) => {
      if (!loginCodes.delete(code)) throw new Refusal('bad_login_link', 'The link was used or has expired.');
      const issued = `login-from-${code}`;
      const loginId = `id-of-${code}`;
      pages.set(issued, { name: 'Ben', login: { loginId, key, origin } });
      const times = { createdAt: AT, expiresAt: '2099-01-01T00:00:00.000Z' };
      return { secret: issued, login: { loginId, name: 'Ben', browser, ...times } };
    },
    auth_prove: ({ origin, nonce, signature }, known) => {
      const login = known?.login;
      const good = login && login.origin === origin && isSigned(login.key, proofText(origin, nonce), signature);
      if (!good) throw new Refusal('page_not_known', 'This page does not hold the key of its login.');
      return { loginId: login.loginId };
    },
    auth_logout: (_, known) => {
      if (known?.login) endLogin(known.login.loginId);
      return {};
    },
    remove_login: ({ loginId }) => {
      endLogin(loginId);
      return { login: { loginId, name: 'Ben', browser: 'A browser', createdAt: AT, expiresAt: AT } };
    },
  };

  function identify({ kind, secret }: Credential): RowCaches | null {
    if (kind === 'page') return pages.get(secret) ?? null;
    const name = logins.get(secret);
    return name === undefined ? null : { name, login: null };
  }

  return { loginCodes, logins, pages, endLogin, handlers, identify };
}

interface ServerDeps {
  autoPong: boolean;
  secret: string;
  /** The first frame of each connection. */
  init: () => object;
  execute: (text: string) => Promise<object>;
}

/** The WebSocket server, which the test can start and kill repeatedly, on one port. */
function createServer({ autoPong, secret, init, execute }: ServerDeps) {
  const wires = new Set<Socket>();
  let server: WebSocketServer | null = null;
  let port = 0;
  let upgrades = 0;

  return {
    url: () => `ws://127.0.0.1:${port}`,
    upgrades: () => upgrades,
    connections: () => server?.clients.size ?? 0,
    broadcast(frame: object): void {
      for (const client of server?.clients ?? []) client.send(JSON.stringify(frame));
    },
    async start(): Promise<void> {
      server = new WebSocketServer({
        port,
        host: '127.0.0.1',
        autoPong,
        verifyClient: ({ req }: { req: { headers: { authorization?: string } } }) => {
          upgrades += 1;
          return req.headers.authorization === `Bearer ${secret}`;
        },
      });
      server.on('connection', (socket, { socket: wire }) => {
        wires.add(wire);
        wire.once('close', () => wires.delete(wire));
        socket.on('message', async (data) => socket.send(JSON.stringify(await execute(data.toString()))));
        socket.send(JSON.stringify(init()));
      });
      await once(server, 'listening');
      port = (server.address() as AddressInfo).port; // it listens on a port
    },
    /** As if it were killed: connections end without a close frame. Stored events stay. */
    async kill(): Promise<void> {
      const stopping = server;
      server = null;
      for (const client of stopping?.clients ?? []) client.terminate();
      await new Promise<void>((resolve) => (stopping === null ? resolve() : stopping.close(() => resolve())));
    },
    /** Sends everything from `work` in one write, like the events of one commit. */
    batch(work: () => void): void {
      for (const wire of wires) wire.cork();
      work();
      for (const wire of wires) wire.uncork();
    },
    dropConnections(): void {
      for (const client of server?.clients ?? []) client.terminate();
    },
  };
}

/** Carries out command frames. @returns a function that resolves with the reply frame */
function createExecutor(
  handlers: Handlers,
  received: Received[],
  identify: (credential: Credential) => RowCaches | null,
) {
  async function runHandler(type: CommandType, input: unknown, caches: RowCaches | null): Promise<object> {
    const handler = handlers[type] as ((input: unknown, caches: RowCaches | null) => unknown) | undefined; // parsed by the schema of this type
    if (handler === undefined) throw new Error(`the test did not expect ${type}`);
    return { ok: true, data: await handler(input, caches) };
  }

  return async (text: string, watch: Watch): Promise<object> => {
    const { type, id, actor, credential, peer: _peer, idempotency, ...rest } = CommandFrame.parse(JSON.parse(text));
    const input = commands[type].input.parse(rest);
    const known = credential === undefined ? null : identify(credential);
    received.push({ type, input, actor: known?.name ?? actor?.name, idempotency });
    if (type === 'watch') watch(commands.watch.input.parse(input).stageIds);
    if (credential !== undefined && known === null) {
      const error = { code: 'not_logged_in', message: 'This login is not known; log in again.' };
      return { type: 'reply', id, ok: false, error };
    }
    const reply = await runHandler(type, input, known).catch((error: unknown) => {
      if (error instanceof Refusal) return { ok: false, error: error.error };
      throw error;
    });
    return { type: 'reply', id, ...reply };
  };
}

export function createFakeOrchestrator(options: { protocol?: number; autoPong?: boolean; secret?: string } = {}) {
  const { protocol = PROTOCOL_VERSION, autoPong = true, secret = SECRET } = options;
  const received: Received[] = [];
  const eventListeners = new Set<(event: BoardEvent) => void>();
  const deltaListeners = new Set<(delta: TextDelta) => void>();
  const { store, since: eventsSince, seq, ...log } = createEventLog();
  const {
    handlers: authHandlers,
    identify,
    ...logins
  } = createLogins((loginId) => {
    publish({ type: 'login-ended', seq: seq() + 1, at: AT, data: { loginId, by: 'Ben' } });
  });
  const handlers: Handlers = {
    get_board: () => board(seq()),
    get_counts: () => ({
      counts: boardCounts(board(seq())),
      loopDelay: { p50Ms: 0.1, p99Ms: 3, maxMs: 12.5 },
      storeTrouble: null,
    }),
    get_events: ({ since, limit = 1000 }) => eventsSince(since, limit),
    watch: () => ({}),
    ...authHandlers,
  };
  const execute = createExecutor(handlers, received, identify);
  const server = createServer({
    autoPong,
    secret,
    init: () => ({ type: 'init', protocol, version: '0.1.0', seq: seq(), data: board(seq()) }),
    execute: (text) => execute(text, () => undefined),
  });
  const { broadcast } = server;

  function publish(event: BoardEvent): BoardEvent {
    store(event);
    broadcast({ ...event, type: wireName(event.type) });
    for (const listener of eventListeners) listener(event);
    return event;
  }

  return {
    ...log,
    ...logins,
    ...server,
    handlers,
    received,
    execute,
    seq,
    notices: (data: BoardNotices) => broadcast({ type: 'notices_updated', data }),
    onEvent: (listener: (event: BoardEvent) => void) => listenWith(eventListeners, listener),
    onTextDelta: (listener: (delta: TextDelta) => void) => listenWith(deltaListeners, listener),
    /** Stores the next event without sending it. */
    store: (bytes?: number) => store(modeChanged(seq() + 1, bytes)),
    /** Stores the next event and sends it. */
    emit: (bytes?: number): BoardEvent => publish(modeChanged(seq() + 1, bytes)),
    textDelta(data: TextDelta): void {
      broadcast({ type: 'text_delta', data });
      for (const listener of deltaListeners) listener(data);
    },
    /** The inputs of the commands of one type, in order. */
    inputsOf: (type: CommandType): unknown[] => received.filter((r) => r.type === type).map((r) => r.input),
  };
}

function listenWith<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
