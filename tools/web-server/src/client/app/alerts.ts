import { AlertChannel, type AlertSettings, type PushMessage, quietUntil } from '@callboard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useNavigate } from 'react-router';
import { z } from 'zod';
import { create } from 'zustand';
import { boardQuery } from '../data/queries.ts';
import { readStored, writeStored } from '../lib/browser-storage.ts';
import { pushedRegistration } from '../lib/service-worker.ts';
import { alertReasons, type Need, type Needs, newAlertReasons } from './alert-reasons.ts';
import { playSound } from './alert-sounds.ts';
import { isViewed } from './looking.ts';

const KEY = 'callboard-alerts';
const Settings = z.object({ notify: z.boolean(), sound: z.boolean() });
type Settings = z.infer<typeof Settings>;

const canNotify = () => 'Notification' in window && Notification.permission === 'granted';

/** What this browser may do to alert a person. Off by default, and off if the browser no longer allows it. */
export const useAlertSettings = create<Settings>(() => {
  const { notify, sound } = readStored(KEY, Settings, { notify: false, sound: false });
  return { notify: notify && canNotify(), sound };
});

export function setAlerts(change: Partial<Settings>): void {
  const { notify, sound } = { ...useAlertSettings.getState(), ...change };
  writeStored(KEY, { notify, sound });
  useAlertSettings.setState({ notify, sound });
}

/** Asks the browser for permission. @returns false if it was refused */
export async function turnOnNotifications(): Promise<boolean> {
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
      if (settings !== undefined) void alert(need, settings, open);
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
