import { MachineId, SessionNowFrame, StageId, TextDeltaFrame } from '@callboard/contract';
import { type GatewayPeers, PEER_PATH, type PeerFrame } from '@callboard/orchestrator/machines';
import type { Logger } from '@callboard/orchestrator/store';
import { type Backoff, createBackoff } from '@callboard/runtime/waits';
import { WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';

export interface PeerServerDeps {
  log: Logger;
  /** Whether this is the secret of that machine, by the store. */
  isKnown: (id: MachineId, secret: string) => Promise<boolean>;
  /** How often it makes sure that a machine that watches is there. */
  silenceMs?: number;
}

/** A peer with this much unread data is disconnected; it connects again. */
const UNREAD_BYTES = 4 * 1024 * 1024;

export function createPeerServer({ log, isKnown, silenceMs = PEER_SILENCE_MS }: PeerServerDeps): GatewayPeers['entry'] {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 1024 * 1024 });
  const watched = new Map<WebSocket, ReadonlySet<StageId>>();

  function welcome(socket: WebSocket): void {
    watched.set(socket, new Set());
    endIfSilent(socket, silenceMs);
    socket.on('close', () => watched.delete(socket));
    socket.on('error', (error) => log.info({ err: error }, 'the connection of another machine failed'));
    socket.on('message', (data) => {
      try {
        watched.set(socket, new Set(PeerRequest.parse(JSON.parse(String(data))).watch));
      } catch (error) {
        log.warn({ err: error }, 'another machine sent an unexpected message');
        socket.close(1002);
      }
    });
  }

  return {
    async admit(request, socket, head) {
      const [, id, secret = ''] = /^Bearer ([0-9a-f-]{36}):(\S+)$/.exec(request.headers.authorization ?? '') ?? [];
      const machineId = MachineId.safeParse(id);
      const isGood = machineId.success && (await isKnown(machineId.data, secret).catch(() => false));
      if (!isGood || socket.destroyed) return void socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n');
      sockets.handleUpgrade(request, socket, head, welcome);
    },
    send(frame) {
      if (watched.size === 0) return;
      const text = JSON.stringify(frame);
      for (const [socket, stageIds] of watched) {
        if (!stageIds.has(frame.data.stageId)) continue;
        if (socket.bufferedAmount > UNREAD_BYTES) socket.terminate();
        else socket.send(text);
      }
    },
    close() {
      for (const socket of sockets.clients) socket.terminate();
    },
  };
}

/** What it wants: the stages that somebody watches, all of them with each change. */
const PeerRequest = z.object({ watch: z.array(StageId).max(10_000) });

/** What it gets. */
const Frame = z.discriminatedUnion('type', [TextDeltaFrame, SessionNowFrame]);

/** How often each side of a connection between machines makes sure that the other one is there. */
const PEER_SILENCE_MS = 10_000;

/**
 * Ends a connection when the other side has answered nothing for that long, up to twice: a network may drop everything and tell
 * nobody. @param everyMs how often it is asked
 */
function endIfSilent(socket: WebSocket, everyMs: number): void {
  let isHeard = true;
  const timer = setInterval(() => {
    if (!isHeard) return socket.terminate();
    isHeard = false;
    socket.ping();
  }, everyMs).unref();
  socket.on('pong', () => {
    isHeard = true;
  });
  socket.on('close', () => clearInterval(timer));
}

export interface PeerLinksDeps {
  log: Logger;
  here: MachineId;
  secret: string;
  ownerOf: (stageId: StageId) => MachineId | null;
  /** Where a machine can be reached; null if nowhere. */
  addressOf: (id: MachineId) => Promise<string | null>;
  onFrame: (frame: PeerFrame) => void;
  /** How often it makes sure that the other machine is there. */
  silenceMs?: number;
}

/** The waits before the next attempt to connect. */
const BACKOFF = { firstMs: 500, maxMs: 15_000 };

interface Link {
  stageIds: StageId[];
  socket: WebSocket | undefined;
  timer: NodeJS.Timeout | undefined;
  backoff: Backoff;
}

/** Losing one loses no transcript: what a session says is in the store as soon as it is complete. */
export function createPeerLinks(deps: PeerLinksDeps): ReturnType<GatewayPeers['linksWith']> {
  const { log, here, secret, ownerOf, addressOf, onFrame, silenceMs = PEER_SILENCE_MS } = deps;
  const links = new Map<MachineId, Link>();

  function end(id: MachineId): void {
    const link = links.get(id);
    links.delete(id);
    clearTimeout(link?.timer);
    link?.socket?.terminate();
  }

  async function connect(id: MachineId, link: Link): Promise<void> {
    const address = await addressOf(id).catch(() => null);
    if (links.get(id) !== link) return;
    if (address === null) return later(id, link);
    const headers = { authorization: `Bearer ${here}:${secret}` };
    const socket = new WebSocket(`${address.replace(/\/$/, '')}${PEER_PATH}`, {
      headers,
      maxPayload: 4 * 1024 * 1024,
      handshakeTimeout: silenceMs,
    });
    link.socket = socket;
    socket.on('open', () => {
      link.backoff.reset();
      endIfSilent(socket, silenceMs);
      notify(link);
    });
    socket.on('message', (data) => receive(id, String(data)));
    socket.on('error', (error) => log.debug({ err: error, machineId: id }, 'no live text from another machine'));
    socket.on('close', () => {
      if (links.get(id) === link) later(id, link);
    });
  }

  function later(id: MachineId, link: Link): void {
    link.timer = setTimeout(() => void connect(id, link), link.backoff.next()).unref();
  }

  /** A machine tells of its own stages alone. */
  function receive(id: MachineId, text: string): void {
    const frame = Frame.safeParse(parsed(text));
    if (frame.success && ownerOf(frame.data.data.stageId) === id) onFrame(frame.data);
  }

  const notify = ({ socket, stageIds }: Link): void => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ watch: stageIds }));
  };

  return {
    watch(stageIds) {
      const wanted = new Map<MachineId, StageId[]>();
      for (const stageId of stageIds) {
        const owner = ownerOf(stageId);
        if (owner !== null && owner !== here) wanted.set(owner, [...(wanted.get(owner) ?? []), stageId]);
      }
      for (const id of [...links.keys()]) if (!wanted.has(id)) end(id);
      for (const [id, ofMachine] of wanted) {
        const known = links.get(id);
        const link = known ?? {
          stageIds: ofMachine,
          socket: undefined,
          timer: undefined,
          backoff: createBackoff(BACKOFF),
        };
        link.stageIds = ofMachine;
        links.set(id, link);
        if (known === undefined) void connect(id, link);
        else notify(link);
      }
    },
    close() {
      for (const id of [...links.keys()]) end(id);
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
