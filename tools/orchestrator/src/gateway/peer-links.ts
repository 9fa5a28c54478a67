import type { MachineId, StageId } from '@callboard/contract';
import { WebSocket } from 'ws';
import type { Logger } from '../lib/logger.ts';
import { PEER_PATH, PeerFrame } from './peer-frames.ts';
import { endIfSilent, PEER_SILENCE_MS } from './silent-peer.ts';

/** Connections to the machines whose stages somebody watches here. */
export interface PeerLinks {
  /** Says which stages are watched now: connects to their machines, and disconnects from others. */
  watch(stageIds: ReadonlySet<StageId>): void;
  close(): void;
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

/** The longest wait before the next attempt to connect. */
const MAX_WAIT_MS = 15_000;
const FIRST_WAIT_MS = 500;

interface Link {
  stageIds: StageId[];
  socket: WebSocket | undefined;
  timer: NodeJS.Timeout | undefined;
  waitMs: number;
}

/** Losing one loses no transcript: what a session says is in the store as soon as it is complete. */
export function createPeerLinks(deps: PeerLinksDeps): PeerLinks {
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
      link.waitMs = FIRST_WAIT_MS;
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
    link.timer = setTimeout(() => void connect(id, link), link.waitMs).unref();
    link.waitMs = Math.min(link.waitMs * 2, MAX_WAIT_MS);
  }

  /** A machine tells of its own stages alone. */
  function receive(id: MachineId, text: string): void {
    const frame = PeerFrame.safeParse(parsed(text));
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
        const link = known ?? { stageIds: ofMachine, socket: undefined, timer: undefined, waitMs: FIRST_WAIT_MS };
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
