import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { MachineId, type StageId } from '@callboard/contract';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Logger } from '../lib/logger.ts';
import { type PeerFrame, PeerRequest } from './peer-frames.ts';
import { endIfSilent, PEER_SILENCE_MS } from './silent-peer.ts';

/** Lets other machines watch the live text of this one. */
export interface PeerServer {
  /** Answers an upgrade request. Never throws. */
  admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
  /** Sends a frame to those who watch its stage. */
  send(frame: PeerFrame): void;
  close(): void;
}

export interface PeerServerDeps {
  log: Logger;
  /** Whether this is the secret of that machine, by the store. */
  isKnown: (id: MachineId, secret: string) => Promise<boolean>;
  /** How often it makes sure that a machine that watches is there. */
  silenceMs?: number;
}

/** A peer with this much unread data is disconnected; it connects again. */
const UNREAD_BYTES = 4 * 1024 * 1024;

export function createPeerServer({ log, isKnown, silenceMs = PEER_SILENCE_MS }: PeerServerDeps): PeerServer {
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
