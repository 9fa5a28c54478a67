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
  /** Called with lines as soon as they are read, in order, before `onLines` has them: what is shown live does not wait. */
  onRead?(lines: readonly ReadLine[]): void;
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

export function createProtocolPeer(channel: Channel, { onRead, onLines }: PeerHandlers): ProtocolPeer {
  const waiting = new Map<string, PromiseWithResolvers<Record<string, unknown>>>();
  let open = true;

  async function* read(): AsyncGenerator<ReadLine[]> {
    for await (const batch of channel.lines()) {
      const lines = batch.map(({ text, end }) => ({ events: parseLine(text).flatMap(translate), end }));
      mark('lines parsed');
      onRead?.(lines);
      yield lines;
    }
  }

  async function readLoop(): Promise<void> {
    for await (const lines of coalesceBatches(read())) {
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

/**
 * What nobody waits for: the bookkeeping at the beginning of a turn, what Claude does before it asks, what a call returned. Its
 * text has been shown live.
 */
const DEFERRABLE = new Set<AgentEvent['type']>([
  ...(['message-progress', 'conversation', 'turn-started', 'message-echoed'] as const),
  ...(['delta', 'preparing', 'block', 'used', 'todos', 'tool-result'] as const),
]);

/** How long the first of some deferrable lines waits for others. */
const WINDOW_MS = 50;
const MAX_LINES = 100;

/** Returns a function that is asked about all lines, in order, and says whether nobody waits for any of these. */
function createDeferral(): (lines: readonly ReadLine[]) => boolean {
  let isShown = false; // what is written of the next text has been shown live
  return (lines) => {
    let mayWait = true;
    for (const event of lines.flatMap(({ events }) => events)) {
      const isText = event.type === 'block' && event.block.kind === 'text';
      if (!DEFERRABLE.has(event.type) || (isText && !isShown)) mayWait = false;
      if (isText) isShown = false;
      else if (event.type === 'delta') isShown = true;
    }
    return mayWait;
  };
}

/**
 * Yields each batch as it comes, except batches that may wait: these are joined with the next ones, up to one that somebody
 * waits for, or yielded after a moment, so that they share one transaction.
 */
export async function* coalesceBatches(batches: AsyncGenerator<ReadLine[]>): AsyncGenerator<ReadLine[]> {
  const mayWait = createDeferral();
  let ahead: Promise<IteratorResult<ReadLine[]>> | undefined;
  try {
    for (;;) {
      const { done, value } = await (ahead ?? batches.next());
      if (done) return;
      ahead = undefined;
      let lines = value;
      let isDue = !mayWait(lines) || lines.every(({ events }) => events.length === 0);
      const until = performance.now() + WINDOW_MS;
      while (!isDue && lines.length < MAX_LINES) {
        ahead = batches.next();
        if (!(await settlesWithin(ahead, Math.max(0, until - performance.now())))) break;
        const next = await ahead.catch(() => null);
        if (next === null || next.done) break; // the next round handles the end or the failure, once these lines are yielded
        ahead = undefined;
        lines = [...lines, ...next.value];
        isDue = !mayWait(next.value);
      }
      yield lines;
    }
  } finally {
    // Whoever stops reading in the middle leaves the spool open otherwise. Not awaited: a read that is under way ends only with the channel.
    batches.return(undefined).catch(() => undefined);
  }
}
