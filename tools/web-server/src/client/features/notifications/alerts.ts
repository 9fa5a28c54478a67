import {
  AlertChannel,
  type AlertSettings,
  type Announcement,
  announcementPath,
  announcementsOf,
  type BoardView,
  DEFAULT_ALERTS,
  finishedText,
  mayPass,
  type PushMessage,
  quietUntil,
  type Signal,
  type StageId,
  StageId as StageIdSchema,
  stagesNeedingYou,
  UNREAD_MS,
  type Viewing,
} from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { z } from 'zod';
import { create } from 'zustand';
import { boardQuery } from '../../data/queries.ts';
import { client } from '../../lib/api-client.ts';
import { withBase } from '../../lib/base-path.ts';
import { readStored, writeStored } from '../../lib/browser-storage.ts';
import { pushedRegistration } from '../../lib/register-worker.ts';
import { stoppedText } from '../../lib/stage-status.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { askTitle } from '../approvals/kinds/request-summary.ts';

const KEY = 'callboard-alerts';
const Settings = z.object({ notify: z.boolean(), sound: z.boolean() });
type Settings = z.infer<typeof Settings>;

const canNotify = () => 'Notification' in window && Notification.permission === 'granted';

/** What this browser may do to alert a person. Off by default, and off if the browser no longer allows it. */
const useAlertSettings = create<Settings>(() => {
  const { notify, sound } = readStored(KEY, Settings, { notify: false, sound: false });
  return { notify: notify && canNotify(), sound };
});

export function setAlerts(change: Partial<Settings>): void {
  const { notify, sound } = { ...useAlertSettings.getState(), ...change };
  writeStored(KEY, { notify, sound });
  useAlertSettings.setState({ notify, sound });
}

/** Asks the browser for permission. @returns false if it was refused */
async function turnOnNotifications(): Promise<boolean> {
  if ('Notification' in window) await Notification.requestPermission();
  setAlerts({ notify: canNotify() });
  return canNotify();
}

/** Alerts the person about new reasons while they do not look at that stage, once for all tabs. */
export function useAlerts(): void {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const { data } = useQuery({
    ...boardQuery,
    select: ({ pending, stages, unsettled }) => ({ pending, stages, unsettled }),
  });
  const known = useRef<Needs | null>(null);
  useEffect(() => {
    if (data === undefined) return;
    const before = known.current;
    known.current = alertReasons(data);
    if (before === null) return;
    const open = (path: string) => void navigate(path);
    for (const need of newAlertReasons(before, known.current)) {
      const settings = cache.getQueryData(boardQuery.queryKey)?.me.alerts;
      if (settings === undefined) continue;
      if (need.mayPass !== true) void alert(need, settings, open);
      else setTimeout(() => known.current?.has(need.key) && void alert(need, settings, open), UNREAD_MS);
    }
  }, [data, cache, navigate]);
}

/** Which of a browser's means a signal may use now, in the person's settings. */
export function allowedNow({ signal }: Pick<Need, 'signal'>, settings: AlertSettings, now: Date): AlertChannel[] {
  if (quietUntil(settings.quiet, now) !== null) return [];
  return AlertChannel.options.filter((channel) => settings[signal][channel]);
}

const ONCE_MS = 3_000;

async function alert(need: Need, settings: AlertSettings, open: (path: string) => void): Promise<void> {
  const { notify, sound } = useAlertSettings.getState();
  const allowed = allowedNow(need, settings, new Date());
  const [mayNotify, maySound] = [notify && allowed.includes('notification'), sound && allowed.includes('sound')];
  if ((!mayNotify && !maySound) || (await isViewed(need.stageId))) return;
  const report = async () => {
    if (maySound) playSound(need.signal);
    if (mayNotify && !(await showAsPushed(need))) showNotification(need, open);
    await new Promise((resolve) => setTimeout(resolve, ONCE_MS));
  };
  if (!('locks' in navigator)) return report();
  await navigator.locks.request(`callboard-alert-${need.key}`, { ifAvailable: true }, (lock) =>
    lock === null ? undefined : report(),
  );
}

const ICONS = {
  waiting: '/favicon-needs-you.svg',
  failed: '/favicon-failed.svg',
  finished: '/favicon-finished.svg',
};

/**
 * In a browser that is pushed to, shows it as the worker does, so that what is pushed takes its place, or has already.
 * @returns false if this browser is not pushed to
 */
async function showAsPushed({ key, signal, title, path }: Need): Promise<boolean> {
  const registration = await pushedRegistration();
  if (registration === null || !canNotify()) return false;
  if ((await registration.getNotifications({ tag: key })).length > 0) return true;
  const nothing = { body: '', request: null, actions: 'none', isSettled: false } as const;
  const data: PushMessage = { tag: key, signal, title, path, ...nothing };
  await registration.showNotification(title, { tag: key, icon: ICONS[signal], data });
  return true;
}

function showNotification({ key, signal, title, path }: Need, open: (path: string) => void): void {
  if (!canNotify()) return;
  const shown = new Notification(title, { tag: key, icon: ICONS[signal] });
  shown.onclick = () => {
    window.focus();
    open(path);
    shown.close();
  };
}

/** Something to alert a person about while they look elsewhere. */
export interface Need {
  /** The same in every tab, and in what is pushed to a device. */
  key: string;
  signal: Signal;
  title: string;
  /** The page that shows it. */
  path: string;
  /** It is signalled only if it still stands after a moment. */
  mayPass?: boolean;
  /** Null if it is about several stages. */
  stageId: Announcement['stageId'] | null;
}

export type Needs = ReadonlyMap<string, Need>;

type Seen = Pick<BoardView, 'stages' | 'pending' | 'unsettled'>;

/** Everything on the board that a person is told about, in words. */
export function alertReasons(view: Seen): Needs {
  const stages = new Map(view.stages.map((stage) => [stage.id, stage]));
  const requests = new Map(view.pending.map((request) => [`${request.stageId} ${request.requestId}`, request]));
  const needs = announcementsOf(view).map((announcement): [string, Need] => {
    const { key, signal, stageId, requestId } = announcement;
    const stage = stages.get(stageId);
    const request = requests.get(`${stageId} ${requestId}`);
    const name = stage?.title ?? stageId;
    const text = stage === undefined ? '' : signal === 'finished' ? finishedText(stage) : stoppedText(stage).text;
    const title = request === undefined ? `${name}: ${text}` : askTitle(request, name, stage?.worktree?.path ?? null);
    const isBrief = request !== undefined && mayPass(request);
    const need = { key, signal, title, path: announcementPath(announcement), stageId };
    return [key, isBrief ? { ...need, mayPass: true } : need];
  });
  return new Map(needs);
}

/** More stages than this that change together (after a restart of Callboard, say) share one alert. */
const ONE_BY_ONE = 3;

const MANY: Readonly<Record<Signal, (count: number) => string>> = {
  waiting: (count) => `${count} stages need you`,
  failed: (count) => `${count} stages have failed`,
  finished: (count) => `${count} stages are finished`,
};

/** The reasons that are new since `before`. */
export function newAlertReasons(before: Needs, now: Needs): Need[] {
  const fresh = [...now.values()].filter(({ key }) => !before.has(key));
  const isRequest = ({ key }: Need) => key.startsWith('request ');
  const ofStages = (signal: Signal): Need[] => {
    const some = fresh.filter((need) => need.signal === signal && !isRequest(need));
    if (some.length <= ONE_BY_ONE) return some;
    const path = signal === 'finished' ? '/' : '/inbox';
    const key = some.map(({ key }) => key).join();
    return [{ key, signal, title: MANY[signal](some.length), path, stageId: null }];
  };
  return [...fresh.filter(isRequest), ...ofStages('waiting'), ...ofStages('failed'), ...ofStages('finished')];
}

interface Tone {
  pitch: number;
  /** After the beginning of the sound, in seconds. */
  at: number;
  lasts: number;
}

/** Told apart without words: rising for a call, falling and low for a failure, one soft chord for what is finished. */
const SOUNDS: Readonly<Record<Signal, readonly Tone[]>> = {
  waiting: [
    { pitch: 660, at: 0, lasts: 0.12 },
    { pitch: 880, at: 0.15, lasts: 0.12 },
  ],
  failed: [
    { pitch: 392, at: 0, lasts: 0.2 },
    { pitch: 262, at: 0.22, lasts: 0.35 },
  ],
  finished: [
    { pitch: 523, at: 0, lasts: 0.4 },
    { pitch: 784, at: 0, lasts: 0.4 },
  ],
};

/** Plays the sound of a signal. A page without a click so far stays silent. */
export function playSound(signal: Signal): void {
  if (typeof AudioContext === 'undefined') return;
  const audio = new AudioContext();
  const volume = audio.createGain();
  volume.gain.value = 0.08;
  volume.connect(audio.destination);
  for (const { pitch, at, lasts } of SOUNDS[signal]) {
    const tone = audio.createOscillator();
    tone.frequency.value = pitch;
    tone.connect(volume);
    tone.start(audio.currentTime + at);
    tone.stop(audio.currentTime + at + lasts);
  }
  setTimeout(() => void audio.close(), 1_500);
}

/** A person who has not touched a visible page for this long may have left the machine. */
const IDLE_MS = 3 * 60_000;
/** The server forgets after a minute what a page has said. */
const AGAIN_MS = 30_000;
const USES = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart', 'focus'] as const;
const LOCK = 'callboard-looking ';

/** What a person sees in a page: that stage, or on all other pages what every stage needs. */
function shownAt(pathname: string): Viewing {
  const stage = StageIdSchema.safeParse(/^\/stages\/([^/]+)$/.exec(pathname)?.[1]);
  return stage.success ? stage.data : 'everything';
}

/**
 * Tells the other tabs of this browser, by a lock, and the server what the person looks at in this one: while it is visible
 * and in use.
 * @returns what they look at now; null while they do not
 */
function usePresence(): Viewing | null {
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
async function isViewed(stageId: StageId | null): Promise<boolean> {
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

/** The two switches of this browser. Turning the sound on plays one. */
export function useAlertSwitches() {
  const { notify, sound } = useAlertSettings();
  const turnOn = async () => {
    if (await turnOnNotifications()) return;
    notifications.show({
      title: 'The browser does not allow notifications',
      message: 'Allow them for this address in the browser’s settings, then turn them on here.',
      color: 'gray',
    });
  };
  return {
    notify,
    sound,
    toggleNotify: () => (notify ? setAlerts({ notify: false }) : void turnOn()),
    toggleSound: () => {
      setAlerts({ sound: !sound });
      if (!sound) playSound('waiting');
    },
  };
}

/** The title of an address without a page. */
export const NOT_FOUND = 'Not found';
const ICON = 'link[rel="icon"]';

/** How many stages give each signal. One stage gives one: a failure is not also counted as waiting. */
export type SignalCounts = Readonly<Record<Signal, number>>;

/** @param seen the finished stages that are not new any more; null: all */
export function signalCounts(view: Seen, seen: readonly string[] | null): SignalCounts {
  const announced = announcementsOf(view);
  const failed = announced.filter(({ signal }) => signal === 'failed').length;
  const finished = announced.filter(({ signal, key }) => signal === 'finished' && seen?.includes(key) === false).length;
  return { waiting: stagesNeedingYou(view).length - failed, failed, finished };
}

/** "(2, 1 failed) Login form · Callboard": what there is to tell, then the page. */
export function pageTitle(counts: SignalCounts, settings: AlertSettings, page: string): string {
  const { waiting, failed, finished } = settings;
  const reported = [
    ...(waiting.title && counts.waiting > 0 ? [`${counts.waiting}`] : []),
    ...(failed.title && counts.failed > 0 ? [`${counts.failed} failed`] : []),
    ...(finished.title && counts.finished > 0 ? [`${counts.finished} finished`] : []),
  ];
  const name = page === '' ? 'Callboard' : `${page} · Callboard`;
  return reported.length === 0 ? name : `(${reported.join(', ')}) ${name}`;
}

/** The icon of the signal that matters most. */
export function pageIcon(counts: SignalCounts, settings: AlertSettings): string {
  const gives = (signal: Signal) => settings[signal].icon && counts[signal] > 0;
  if (gives('waiting')) return '/favicon-needs-you.svg';
  if (gives('failed')) return '/favicon-failed.svg';
  return gives('finished') ? '/favicon-finished.svg' : '/favicon.svg';
}

const finishedOf = (view: Seen) => announcementsOf(view).filter(({ signal }) => signal === 'finished');

/**
 * Shows in the browser tab's title and icon what there is to tell, and notes what the person has seen.
 *
 * @param page the name of the page; null on a stage's page, which has the stage's title
 */
export function useTabTitle(page: string | null): void {
  const { pathname } = useLocation();
  const { keys: seen } = useSeenFinished();
  const { data: counts = { waiting: 0, failed: 0, finished: 0 } } = useQuery({
    ...boardQuery,
    select: (view) => signalCounts(view, seen),
  });
  const { data: settings = DEFAULT_ALERTS } = useQuery({ ...boardQuery, select: ({ me }) => me.alerts });
  const stageId = pathname.startsWith('/stages/') ? shownAt(pathname) : null;
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => view.stages.find((other) => other.id === stageId)?.title,
  });
  const name = page ?? stage ?? NOT_FOUND;
  const watching = usePresence();
  useEffect(followSeenFinished, []);
  const { data: finished } = useQuery({ ...boardQuery, select: finishedOf });
  useEffect(() => {
    if (finished !== undefined && watching !== null) seeFinished(finished, watching);
  }, [finished, watching]);
  useEffect(() => {
    document.title = pageTitle(counts, settings, name);
  }, [counts, settings, name]);
  useEffect(() => {
    document.querySelector(ICON)?.setAttribute('href', withBase(pageIcon(counts, settings)));
  }, [counts, settings]);
}

const SEEN_FINISHED_KEY = 'callboard-seen-finished';
const Keys = z.array(z.string()).nullable();

interface SeenFinished {
  /** The keys of finished stages that somebody at this browser has seen; null before the first look. */
  keys: readonly string[] | null;
}

/** Which finished stages were seen in this browser: what is new since then is signalled in the tab's title and icon. */
const useSeenFinished = create<SeenFinished>(() => ({ keys: readStored(SEEN_FINISHED_KEY, Keys, null) }));

type Finished = readonly Pick<Announcement, 'key' | 'stageId'>[];

/** Notes what a person has just seen. Nothing is new at the first look ever. */
function seeFinished(finished: Finished, at: Viewing): void {
  const { keys } = useSeenFinished.getState();
  const isSeen = ({ key, stageId }: Finished[number]) =>
    keys === null || at === 'everything' || stageId === at || keys.includes(key);
  const seen = finished.filter(isSeen).map(({ key }) => key);
  if (keys !== null && seen.length === keys.length && seen.every((key) => keys.includes(key))) return;
  writeStored(SEEN_FINISHED_KEY, seen);
  useSeenFinished.setState({ keys: seen });
}

/** Follows what is seen in the other tabs. @returns a function that ends that */
function followSeenFinished(): () => void {
  const read = ({ key }: StorageEvent) => {
    if (key === SEEN_FINISHED_KEY) useSeenFinished.setState({ keys: readStored(SEEN_FINISHED_KEY, Keys, null) });
  };
  window.addEventListener('storage', read);
  return () => window.removeEventListener('storage', read);
}
