import type { FastifyBaseLogger } from 'fastify';
import { OrchestratorUnreachable } from '../errors.ts';

interface EventPage<E> {
  events: readonly E[];
  resync: boolean;
}

export interface EventFeedOptions<E> {
  /** The stored events after `since`, ascending, at most a page of them. */
  fetchPage: (since: number) => Promise<EventPage<E>>;
  emit: (event: E) => void;
  /** Some events up to `seq()` cannot be fetched: whatever follows from them must be loaded anew. */
  resync: () => void;
  log: FastifyBaseLogger;
}

/**
 * Brings the events of many connections into one order: emits each once, by ascending `seq`. Missing events (after a
 * reconnect, or between two live events) are fetched before anything newer is emitted. Live events that arrive
 * meanwhile are dropped, since the fetch goes on until it has reached them.
 */
export function createEventFeed<E extends { seq: number }>({ fetchPage, emit, resync, log }: EventFeedOptions<E>) {
  let last: number | null = null;
  /** The newest number known to exist. */
  let newest = 0;
  let fetching = false;
  /** Raised by whatever makes a running fetch pointless. */
  let round = 0;

  function deliver(event: E): void {
    last = event.seq;
    emit(event);
  }

  function skipTo(seq: number): void {
    last = seq;
    resync();
  }

  /** A connection has started; its state is true at `seq`. */
  function begin(seq: number): void {
    round += 1;
    fetching = false;
    newest = seq;
    if (last === null) last = seq;
    else if (seq < last) skipTo(seq);
    else if (seq > last) void closeGap(last);
  }

  /** Takes a live event; null if it has a number but cannot be read. */
  function take(seq: number, event: E | null): void {
    if (last === null) return;
    newest = Math.max(newest, seq);
    if (seq <= last || fetching) return;
    if (seq > last + 1) void closeGap(last);
    else if (event === null) skipTo(seq);
    else deliver(event);
  }

  async function closeGap(from: number): Promise<void> {
    round += 1;
    const mine = round;
    fetching = true;
    let reached = from;
    try {
      while (reached < newest) {
        const target = newest;
        const page = await fetchPage(reached);
        if (mine !== round) return;
        if (page.resync) skipTo(target);
        for (const event of page.events) if (event.seq > reached && !page.resync) deliver(event);
        if (last === reached) skipTo(target); // the log does not hold what it should
        reached = last ?? target;
      }
    } catch (error) {
      if (mine !== round || error instanceof OrchestratorUnreachable) return; // the next connection starts over
      log.error({ err: error, from: reached, to: newest }, 'missed events could not be fetched');
      skipTo(newest);
    } finally {
      if (mine === round) fetching = false;
    }
  }

  return {
    begin,
    take,
    /** The number of the newest emitted event; null until the first connection. */
    seq: (): number | null => last,
  };
}
