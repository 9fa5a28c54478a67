import type { Announcement, Viewing } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../lib/browser-storage.ts';

const KEY = 'callboard-seen-finished';
const Keys = z.array(z.string()).nullable();

interface Seen {
  /** The keys of finished stages that somebody at this browser has seen; null before the first look. */
  keys: readonly string[] | null;
}

/** Which finished stages were seen in this browser: what is new since then is signalled in the tab's title and icon. */
export const useSeenFinished = create<Seen>(() => ({ keys: readStored(KEY, Keys, null) }));

type Finished = readonly Pick<Announcement, 'key' | 'stageId'>[];

/** Notes what a person has just seen. Nothing is new at the first look ever. */
export function seeFinished(finished: Finished, at: Viewing): void {
  const { keys } = useSeenFinished.getState();
  const isSeen = ({ key, stageId }: Finished[number]) =>
    keys === null || at === 'everything' || stageId === at || keys.includes(key);
  const seen = finished.filter(isSeen).map(({ key }) => key);
  if (keys !== null && seen.length === keys.length && seen.every((key) => keys.includes(key))) return;
  writeStored(KEY, seen);
  useSeenFinished.setState({ keys: seen });
}

/** Follows what is seen in the other tabs. @returns a function that ends that */
export function followSeenFinished(): () => void {
  const read = ({ key }: StorageEvent) => {
    if (key === KEY) useSeenFinished.setState({ keys: readStored(KEY, Keys, null) });
  };
  window.addEventListener('storage', read);
  return () => window.removeEventListener('storage', read);
}
