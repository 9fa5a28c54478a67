import { mark } from '@callboard/runtime/marks';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { OperationalError, ProtocolError } from '../../lib/errors.ts';
import type { AgentEvent } from '../agent-event.ts';
import type { Channel } from './channel.ts';
import { parseLine } from './frames.ts';
import { translate } from './translate.ts';

/** The events of one line of the spool. */
export interface ReadLine {
  events: AgentEvent[];
  /** The offset behind the line. */
  end: number;
}

export interface PeerHandlers {
  /**
   * Handles lines, in order. The next ones are read once this has resolved, so a full disk or a slow store holds the
   * reader back instead of filling the memory.
   */
  onLines(lines: ReadLine[]): Promise<void>;
}

/** Reads the frames of one process and matches its replies to our requests. Never waits for a person. */
export interface ProtocolPeer {
  /**
   * Resolves with the reply to the control request of that id, whether that was already written or will be.
   * @throws ProtocolError `refused` with the CLI's words, OperationalError `peer_closed` when the channel ends first,
   *   the signal's reason when it aborts first
   */
  reply(requestId: string, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** Resolves when the channel has ended and every line was handled; rejects when handling failed. All waiters are rejected before. */
  readonly closed: Promise<void>;
}

const gone = () => new OperationalError('peer_closed', 'the process ended before it replied');

export function createProtocolPeer(channel: Channel, { onLines }: PeerHandlers): ProtocolPeer {
  const waiting = new Map<string, PromiseWithResolvers<Record<string, unknown>>>();
  let open = true;

  async function* read(): AsyncGenerator<ReadLine[]> {
    for await (const batch of channel.lines()) {
      yield batch.map(({ text, end }) => ({ events: parseLine(text).flatMap(translate), end }));
    }
  }

  async function readLoop(): Promise<void> {
    for await (const lines of coalesceBatches(read())) {
      mark('lines parsed');
      await onLines(lines);
      // Only after the commit: a waiter may rely on the reply's effects being stored.
      for (const { events } of lines) for (const event of events) if (event.type === 'response') settle(event);
    }
  }

  function settle({ requestId, ok, response }: Extract<AgentEvent, { type: 'response' }>): void {
    const waiter = waiting.get(requestId);
    if (ok) waiter?.resolve(response);
    else
      waiter?.reject(
        new ProtocolError('refused', typeof response.error === 'string' ? response.error : 'no reason given'),
      );
  }

  const closed = readLoop().finally(() => {
    open = false;
    for (const waiter of waiting.values()) waiter.reject(gone());
  });
  closed.catch(() => undefined); // the peer's user awaits it; this covers the time before

  async function reply(requestId: string, signal: AbortSignal): Promise<Record<string, unknown>> {
    signal.throwIfAborted();
    if (!open) throw gone();
    const waiter = Promise.withResolvers<Record<string, unknown>>();
    const onAbort = () => waiter.reject(signal.reason);
    waiting.set(requestId, waiter);
    signal.addEventListener('abort', onAbort);
    try {
      return await waiter.promise;
    } finally {
      waiting.delete(requestId);
      signal.removeEventListener('abort', onAbort);
    }
  }

  return { reply, closed };
}

/** The CLI's bookkeeping at the beginning of a turn: three lines, some milliseconds apart, that nobody waits for. */
const DEFERRABLE = new Set<AgentEvent['type']>(['message-progress', 'conversation', 'turn-started', 'message-echoed']);

/** How long deferrable lines wait for the next batch. */
const WAIT_MS = 20;
const MAX_LINES = 100;

function mayWait(lines: readonly ReadLine[]): boolean {
  const events = lines.flatMap((line) => line.events);
  return events.length > 0 && events.every(({ type }) => DEFERRABLE.has(type)) && lines.length < MAX_LINES;
}

/**
 * Yields each batch as it comes, except batches of deferrable lines: these are joined with the next batch, or yielded
 * after a moment, so that they share one transaction.
 */
export async function* coalesceBatches(batches: AsyncGenerator<ReadLine[]>): AsyncGenerator<ReadLine[]> {
  let ahead: Promise<IteratorResult<ReadLine[]>> | undefined;
  try {
    for (;;) {
      const { done, value } = await (ahead ?? batches.next());
      if (done) return;
      ahead = undefined;
      let lines = value;
      while (mayWait(lines)) {
        ahead = batches.next();
        if (!(await settlesWithin(ahead, WAIT_MS))) break;
        const next = await ahead.catch(() => null);
        if (next === null || next.done) break; // the next round handles the end or the failure, once these lines are yielded
        lines = [...lines, ...next.value];
        ahead = undefined;
      }
      yield lines;
    }
  } finally {
    // Whoever stops reading in the middle leaves the spool open otherwise. Not awaited: a read that is under way ends only with the channel.
    batches.return(undefined).catch(() => undefined);
  }
}
