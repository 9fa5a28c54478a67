import type { AgentEvent } from '../agent/agent-event.ts';
import { OperationalError, ProtocolError } from '../lib/errors.ts';
import { mark } from '../lib/marks.ts';
import type { Channel } from './channel.ts';
import { joinBatches, type ReadLine } from './join-batches.ts';
import { translate } from './translate.ts';
import { parseLine } from './wire/frames.ts';

export interface PeerHandlers {
  /**
   * Takes lines, in order. Those after the next ones are read once this has resolved, so that a full disk or a slow store holds the
   * reader back instead of filling the memory.
   */
  onLines(lines: ReadLine[]): Promise<void>;
}

/** Reads one process's frames and matches its replies to our requests. It never waits for a person. */
export interface ProtocolPeer {
  /**
   * The reply to the control request of that id, whenever it was or will be written.
   * @throws ProtocolError `refused` with the CLI's words, OperationalError `peer_closed` when the channel ends first,
   *   the signal's reason when it aborts first.
   */
  reply(requestId: string, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** Resolves when the channel has ended and everything read was taken; rejects when taking it failed. By then every waiter was told. */
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
    for await (const lines of joinBatches(read())) {
      mark('lines parsed');
      await onLines(lines);
      // Only after the commit: whoever waited may rely on what the reply says being stored.
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
  closed.catch(() => undefined); // whoever uses the peer awaits it; this is for the time before

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
