/**
 * Requests that get no answer, because what is on the way has lost them. Each keeps a connection, of which a browser has six for all its
 * tabs over HTTP/1.1: the event stream and its polls would find none, and neither would what a person does next.
 */

import { createStore } from 'zustand/vanilla';

/** What has waited so long when the way falls silent, or is back, was lost on it. */
const HUNG_MS = 1_000;
/** How long a request that only reads keeps the one place that there is in the silence. */
const TURN_MS = 3_000;

interface Waiting {
  sentAt: number;
  /** A large upload, which loses much by being begun anew. */
  isLarge: boolean;
  giveUp: AbortController;
}

export interface Waits {
  signal?: AbortSignal | undefined;
  /** How long it may take. Without, its signal says so. */
  limitMs?: number | undefined;
  /** It is sent again by itself when it is given up because of the way. */
  isRead: boolean;
  isLarge?: boolean;
  /** It waits for no other: the page may be about to close. */
  isLast?: boolean;
  /** The error of one that is given up. */
  unanswered: () => Error;
}

/** What is on the way to the server, for all requests of this page. */
const way = createStore(() => ({ isSilent: false, waiting: new Set<Waiting>(), queued: new Set<() => void>() }));

/**
 * Tells whether nothing at all comes from the server. What was lost is then given up, and the requests of this page go out one at a time,
 * until the way is back.
 */
export function setSilent(now: boolean): void {
  const { isSilent, waiting } = way.getState();
  if (now === isSilent) return;
  way.setState({ isSilent: now });
  for (const { sentAt, isLarge, giveUp } of [...waiting])
    if (!isLarge && Date.now() - sentAt >= HUNG_MS) giveUp.abort();
  letIn();
}

function isFree(): boolean {
  const { isSilent, waiting } = way.getState();
  return !isSilent || [...waiting].every(({ isLarge }) => isLarge);
}

function letIn(): void {
  for (const go of [...way.getState().queued]) {
    if (!isFree()) return;
    go();
  }
}

/** Resolves when there is a place for this request. */
function turn(place: Waiting, signal: AbortSignal | undefined): Promise<void> {
  const { waiting, queued } = way.getState();
  return new Promise((resolve, reject) => {
    const leave = () => {
      queued.delete(go);
      signal?.removeEventListener('abort', refuse);
    };
    const refuse = () => {
      leave();
      reject(signal?.reason);
    };
    const go = () => {
      leave();
      place.sentAt = Date.now();
      waiting.add(place);
      resolve();
    };
    if (signal?.aborted === true) return refuse();
    signal?.addEventListener('abort', refuse);
    queued.add(go);
  });
}

/**
 * Sends a request, and gives it up if the way to the server has lost it.
 * @throws the error of `unanswered` if it is given up and may not be sent again here
 */
export async function withoutHanging<T>(send: (signal: AbortSignal) => Promise<T>, waits: Waits): Promise<T> {
  const { signal, limitMs, isRead, isLarge = false, isLast = false, unanswered } = waits;
  const { waiting } = way.getState();
  for (;;) {
    const place: Waiting = { sentAt: Date.now(), isLarge, giveUp: new AbortController() };
    if (isFree() || isLast) waiting.add(place);
    else await turn(place, signal);
    const own = place.giveUp.signal;
    const isTurn = isRead && way.getState().isSilent;
    const ms = isTurn ? TURN_MS : limitMs;
    const timer = ms === undefined ? undefined : setTimeout(() => place.giveUp.abort(), ms);
    try {
      return await send(signal === undefined ? own : AbortSignal.any([signal, own]));
    } catch (error) {
      if (!own.aborted || signal?.aborted === true) throw error;
      const isOverdue = !isTurn && ms !== undefined && Date.now() - place.sentAt >= ms;
      if (!isRead || isOverdue) throw unanswered();
    } finally {
      clearTimeout(timer);
      waiting.delete(place);
      letIn();
    }
  }
}
