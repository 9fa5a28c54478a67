import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { z } from 'zod';
import { create } from 'zustand';
import { boardQuery } from '../data/queries.ts';
import { readStored, writeStored } from '../lib/browser-storage.ts';
import { alertReasons, type Need, type Needs, newAlertReasons } from './alert-reasons.ts';

const KEY = 'callboard-alerts';
const Settings = z.object({ notify: z.boolean(), sound: z.boolean() });
type Settings = z.infer<typeof Settings>;

const canNotify = () => 'Notification' in window && Notification.permission === 'granted';

/** How to alert a person who does not look at Callboard. Off by default, and off if the browser no longer allows it. */
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

const VISIBLE = 'callboard-visible';

/** Tells the other tabs while this one is visible. */
function useToldVisible(): void {
  useEffect(() => {
    let stop: AbortController | undefined;
    const tell = () => {
      stop?.abort();
      stop = undefined;
      if (document.visibilityState !== 'visible' || !('locks' in navigator)) return;
      const current = new AbortController();
      stop = current;
      const held = () => new Promise<void>((resolve) => current.signal.addEventListener('abort', () => resolve()));
      navigator.locks.request(VISIBLE, { mode: 'shared', signal: current.signal }, held).catch(() => undefined);
    };
    tell();
    document.addEventListener('visibilitychange', tell);
    return () => {
      stop?.abort();
      document.removeEventListener('visibilitychange', tell);
    };
  }, []);
}

async function isAnyTabVisible(): Promise<boolean> {
  if (document.visibilityState === 'visible') return true;
  if (!('locks' in navigator)) return false;
  return (await navigator.locks.query()).held?.some(({ name }) => name === VISIBLE) ?? false;
}

/** Alerts the person about new reasons while no tab is visible, once for all tabs. */
export function useAlerts(): void {
  useToldVisible();
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
    for (const need of newAlertReasons(before, known.current)) void alert(need);
  }, [data]);
}

const ONCE_MS = 3_000;

async function alert(need: Need): Promise<void> {
  const { notify, sound } = useAlertSettings.getState();
  if ((!notify && !sound) || (await isAnyTabVisible())) return;
  const tell = async () => {
    if (sound) beep();
    if (notify) showNotification(need);
    await new Promise((resolve) => setTimeout(resolve, ONCE_MS));
  };
  if (!('locks' in navigator)) return tell();
  await navigator.locks.request(`callboard-alert-${need.key}`, { ifAvailable: true }, (lock) =>
    lock === null ? undefined : tell(),
  );
}

function showNotification({ key, title }: Need): void {
  if (!canNotify()) return;
  const shown = new Notification(title, { tag: key, icon: '/favicon-needs-you.svg' });
  shown.onclick = () => {
    window.focus();
    shown.close();
  };
}

/** Plays two short tones. A page without a click so far stays silent. */
export function beep(): void {
  if (typeof AudioContext === 'undefined') return;
  const audio = new AudioContext();
  const volume = audio.createGain();
  volume.gain.value = 0.08;
  volume.connect(audio.destination);
  [660, 880].forEach((pitch, index) => {
    const tone = audio.createOscillator();
    tone.frequency.value = pitch;
    tone.connect(volume);
    tone.start(audio.currentTime + index * 0.15);
    tone.stop(audio.currentTime + index * 0.15 + 0.12);
  });
  setTimeout(() => void audio.close(), 1_000);
}
