import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  type BoardEvent,
  type BoardNotices,
  type BoardView,
  PROTOCOL_VERSION,
  type SessionNowFrame,
  type SessionNowUpdate,
  type StageId,
  type TextDelta,
  type TextDeltaFrame,
  wireName,
} from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { mark } from '@callboard/runtime/marks';
import { type WebSocket, WebSocketServer } from 'ws';
import type { z } from 'zod';
import { OperationalError } from '../lib/errors.ts';
import type { Store } from '../store/store.ts';
import { type ExecutionDeps, executeCommand } from './execute-command.ts';

const UNAUTHORIZED = 'HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n';

export interface GatewayDeps extends ExecutionDeps {
  store: Store;
  board: () => Promise<BoardView>;
  host: string;
  port: number;
  /** The bearer token that an upgrade request must carry. */
  secret: string;
  version: string;
  /** Live text between machines. */
  peers?: GatewayPeers;
}

/** Other machines that watch stages here, and those whose stages are watched here. */
export interface GatewayPeers {
  /** Lets other machines watch the live text of this one. */
  entry: {
    /** Answers an upgrade request. Never throws. */
    admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
    /** Sends a frame to those who watch its stage. */
    send(frame: PeerFrame): void;
    close(): void;
  };
  /** Makes the links. Frames of other machines go to `onFrame`. */
  linksWith: (onFrame: (frame: PeerFrame) => void) => {
    /** Says which stages are watched now: connects to their machines, and disconnects from others. */
    watch(stageIds: ReadonlySet<StageId>): void;
    close(): void;
  };
}

/** Where one orchestrator asks another one for live text. */
export const PEER_PATH = '/machine';

/** Text of the stages that somebody watches, and what their sessions do this moment. */
export type PeerFrame = z.infer<typeof TextDeltaFrame> | z.infer<typeof SessionNowFrame>;

/** There is one machine. */
export const NO_PEERS: GatewayPeers = {
  entry: {
    admit: async (_request, socket) => void socket.end(UNAUTHORIZED),
    send: () => undefined,
    close: () => undefined,
  },
  linksWith: () => ({ watch: () => undefined, close: () => undefined }),
};

/** The WebSocket side of the orchestrator. */
export interface Gateway {
  readonly port: number;
  /** Sends streaming text to the connections that watch its stage. */
  onTextDelta(delta: TextDelta): void;
  /** Sends to all connections what a session does this moment. */
  onSessionNow(update: SessionNowUpdate): void;
  /** Sends the board's notices about the machine to all connections after they have changed. */
  onNotices(notices: BoardNotices): void;
  close(): Promise<void>;
}

// An import makes Node fill in every export of the module, which loads its whole HTTP client: about 25 ms at startup.
const { createServer } = process.getBuiltinModule('node:http');

/** A client with this much unread data is disconnected; it reconnects and replays what it missed. */
const UNREAD_BYTES = 64 * 1024 * 1024;
const MAX_COMMAND_BYTES = 32 * 1024 * 1024;

interface Connection {
  socket: WebSocket;
  /** The stream that carries its frames. */
  wire: Duplex;
  watched: ReadonlySet<StageId>;
}

/**
 * Opens the WebSocket server. The first frame of a connection is `init` with the whole board. Every event after its
 * `seq` follows, in order.
 * @throws OperationalError `port_in_use`
 */
export async function openGateway(deps: GatewayDeps): Promise<Gateway> {
  const { store, board, log, host, port, secret, version, peers = NO_PEERS } = deps;
  const connections = new Set<Connection>();
  const server = createServer((_request, response) => response.writeHead(426).end());
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_COMMAND_BYTES });

  server.on('upgrade', (request, socket, head) => {
    // Node leaves such a socket to us; without a listener, a client that is gone before its answer would end this process.
    socket.on('error', (error) => log.debug({ err: error }, 'a connection failed before it was one'));
    if (request.url === PEER_PATH) return void peers.entry.admit(request, socket, head);
    if (isAuthorized(request, secret)) sockets.handleUpgrade(request, socket, head, (ws) => void welcome(ws, socket));
    else socket.end(UNAUTHORIZED);
  });

  function send({ socket, wire }: Connection, text: string): void {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > UNREAD_BYTES) {
      log.warn({ bytes: socket.bufferedAmount }, 'slow client disconnected');
      socket.terminate();
      return;
    }
    if (wire.writableCorked === 0) {
      // Sends the events of one commit in one write, which wakes the other side once.
      wire.cork();
      queueMicrotask(() => wire.uncork());
    }
    socket.send(text);
  }

  /** Serializes a frame once, for all receivers. */
  function notify(receivers: Iterable<Connection>, frame: { type: string; [field: string]: unknown }): void {
    const text = JSON.stringify(frame);
    mark('frame sent', frame.type);
    for (const connection of receivers) send(connection, text);
  }

  async function welcome(socket: WebSocket, wire: Duplex): Promise<void> {
    const connection: Connection = { socket, wire, watched: new Set() };
    const early: BoardEvent[] = []; // committed while the board is being read
    const unlistenEarly = store.onEvent((event) => early.push(event));
    socket.on('error', (error) => log.info({ err: error }, 'client connection failed'));
    socket.on('message', (data) => void onCommand(connection, String(data)));
    try {
      const view = await board();
      notify([connection], initFrame(view, version));
      for (const event of early) if (event.seq > view.seq) notify([connection], eventFrame(event));
      connections.add(connection);
      socket.on('close', () => connections.delete(connection) && live.watch());
      if (socket.readyState !== socket.OPEN) connections.delete(connection);
    } catch (error) {
      log.error({ err: error }, 'board not sent to client');
      socket.close(1011);
    } finally {
      unlistenEarly();
    }
  }

  async function onCommand(connection: Connection, text: string): Promise<void> {
    const watch = (stageIds: readonly StageId[]) => {
      connection.watched = new Set(stageIds);
      live.watch();
    };
    mark('command received');
    const reply = await executeCommand(deps, text, watch);
    if (reply !== null) notify([connection], reply);
  }

  const live = createLive(connections, notify, peers);
  const unlisten = passEvents(deps, connections, notify, live);

  return {
    port: await listen(server, host, port),
    onTextDelta: (data) => live.pass({ type: 'text_delta', data }),
    onSessionNow: (data) => live.pass({ type: 'session_now', data }),
    onNotices: (data) => notify(connections, { type: 'notices_updated', data }),
    close: async () => {
      unlisten();
      live.close();
      for (const socket of sockets.clients) socket.terminate();
      await closeServer(server);
    },
  };
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/** Passes on what is not stored, of this machine and of others. */
function createLive(
  connections: ReadonlySet<Connection>,
  notify: (receivers: Iterable<Connection>, frame: PeerFrame) => void,
  peers: GatewayPeers,
) {
  function passHere(frame: PeerFrame): void {
    const isForAll = frame.type === 'session_now';
    const receivers = [...connections].filter(({ watched }) => isForAll || watched.has(frame.data.stageId));
    if (receivers.length > 0) notify(receivers, frame);
  }
  const links = peers.linksWith(passHere);
  return {
    /** Passes on what happens on this machine. */
    pass(frame: PeerFrame): void {
      passHere(frame);
      peers.entry.send(frame);
    },
    /** The connections watch other stages than before, or those have got another machine. */
    watch: () => links.watch(new Set([...connections].flatMap(({ watched }) => [...watched]))),
    close(): void {
      links.close();
      peers.entry.close();
    },
  };
}

/** Passes on all events, and the whole board when the event log has begun anew. Returns a function that stops that. */
function passEvents(
  { store, board, version }: GatewayDeps,
  connections: ReadonlySet<Connection>,
  notify: (receivers: Iterable<Connection>, frame: ReturnType<typeof initFrame | typeof eventFrame>) => void,
  live: Pick<ReturnType<typeof createLive>, 'watch'>,
): () => void {
  let newest = 0;
  const begin = (view: BoardView): void => {
    if (view.seq > newest) notify(connections, initFrame(view, version)); // a later event shows the gap as well
  };
  const unlisten = [
    store.onEvent((event) => {
      newest = event.seq;
      notify(connections, eventFrame(event));
      if (event.type === 'stage-updated') live.watch(); // it may have got another machine
    }),
    store.onEpoch(() => void board().then(begin, () => closeAll(connections))),
  ];
  return () => {
    for (const stop of unlisten) stop();
  };
}

const initFrame = (view: BoardView, version: string) => ({
  type: 'init',
  protocol: PROTOCOL_VERSION,
  version,
  seq: view.seq,
  data: view,
});

/** The clients connect again, and begin with the whole board. */
function closeAll(connections: ReadonlySet<Connection>): void {
  for (const { socket } of connections) socket.close(1012);
}

const eventFrame = ({ type, seq, at, data }: BoardEvent) => ({ type: wireName(type), seq, at, data });

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const taken = systemCode(error) === 'EADDRINUSE';
      const message = `Port ${port} on ${host} is in use by another program. Choose another with --orchestrator-port.`;
      reject(taken ? new OperationalError('port_in_use', message, { cause: error }) : error);
    });
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

function isAuthorized(request: IncomingMessage, secret: string): boolean {
  const shown = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (shown === undefined || request.headers.origin !== undefined) return false; // a web page is never a client here
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(shown), digest(secret));
}
