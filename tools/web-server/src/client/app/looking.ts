import { type StageId, StageId as StageIdSchema, type Viewing } from '@callboard/contract';
import { useEffect, useState } from 'react';
import { useLocation } from 'react-router';
import { client } from '../lib/api-client.ts';
import { useCanCommand } from '../stream/stream-context.tsx';

/** A person who has not touched a visible page for this long may have left the machine. */
const IDLE_MS = 3 * 60_000;
/** The server forgets after a minute what a page has said. */
const AGAIN_MS = 30_000;
const USES = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart', 'focus'] as const;
const LOCK = 'callboard-looking ';

/** What a person sees in a page: that stage, or on all other pages what every stage needs. */
export function shownAt(pathname: string): Viewing {
  const stage = StageIdSchema.safeParse(/^\/stages\/([^/]+)$/.exec(pathname)?.[1]);
  return stage.success ? stage.data : 'everything';
}

/**
 * Tells the other tabs of this browser, by a lock, and the server what the person looks at in this one: while it is visible
 * and in use.
 * @returns what they look at now; null while they do not
 */
export function usePresence(): Viewing | null {
  const at = shownAt(useLocation().pathname);
  const [isViewing, setPresence] = useState(false);
  // Told again after the server was away: it keeps this in memory.
  const canNotify = useCanCommand();
  useEffect(() => watchPresence(at, canNotify, setPresence), [at, canNotify]);
  return isViewing ? at : null;
}

function watchPresence(at: Viewing, canNotify: boolean, onChange: (isViewing: boolean) => void): () => void {
  const tabId = ownTabId();
  let watching: AbortController | null = null;
  let used = performance.now();
  let notifying = new AbortController();
  /**
   * Only the last one counts: where the network swallows them, those before would keep all of the browser's connections. One with
   * `keepalive` could not be given up, as Chromium sends it to its end, so it is for a page that may be about to close.
   */
  const notify = (now: Viewing | null) => {
    notifying.abort();
    notifying = new AbortController();
    const options = now === null ? { keepalive: true } : { signal: notifying.signal };
    if (canNotify) client.command('tell_looking', { tabId, at: now }, options).catch(() => undefined);
  };

  function begin(): void {
    if (watching !== null) return;
    watching = new AbortController();
    holdLock(at, watching.signal);
    notify(at);
    onChange(true);
  }
  function end(): void {
    if (watching === null) return;
    watching.abort();
    watching = null;
    notify(null);
    onChange(false);
  }
  const check = () => (document.visibilityState === 'visible' ? begin() : end());
  const use = () => {
    used = performance.now();
    check();
  };
  const again = setInterval(() => {
    if (performance.now() - used > IDLE_MS) end();
    else if (watching !== null) notify(at);
  }, AGAIN_MS);
  check();
  document.addEventListener('visibilitychange', use);
  window.addEventListener('pagehide', end);
  for (const name of USES) window.addEventListener(name, use, { passive: true });
  return () => {
    clearInterval(again);
    watching?.abort(); // what follows tells the server
    notifying.abort();
    document.removeEventListener('visibilitychange', use);
    window.removeEventListener('pagehide', end);
    for (const name of USES) window.removeEventListener(name, use);
  };
}

const TAB_KEY = 'callboard-tab';

/** The same for the life of a tab. A copied tab shares it, which costs nothing: both belong to one browser. */
function ownTabId(): string {
  const made = newTabId();
  try {
    const saved = sessionStorage.getItem(TAB_KEY) ?? made;
    sessionStorage.setItem(TAB_KEY, saved);
    return saved;
  } catch {
    return made;
  }
}

/** `crypto.randomUUID` is missing in a page without TLS from another machine. */
function newTabId(): string {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

function holdLock(at: Viewing, signal: AbortSignal): void {
  if (!('locks' in navigator)) return;
  const held = () => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  navigator.locks.request(`${LOCK}${at}`, { mode: 'shared', signal }, held).catch(() => undefined);
}

/** Whether the person looks at this stage (null: at a page that shows them all), in a tab of this browser or on another device. */
export async function isViewed(stageId: StageId | null): Promise<boolean> {
  const names = [`${LOCK}everything`, ...(stageId === null ? [] : [`${LOCK}${stageId}`])];
  if ('locks' in navigator) {
    const { held = [] } = await navigator.locks.query();
    if (held.some(({ name }) => name !== undefined && names.includes(name))) return true;
  }
  if (stageId === null) return false;
  // A server that cannot be asked is no reason to be silent.
  return client.command('get_looking', { stageId }).then(
    ({ isLooking }) => isLooking,
    () => false,
  );
}
