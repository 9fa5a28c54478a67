import {
  type AlertSettings,
  announcementsOf,
  type BoardView,
  DEFAULT_ALERTS,
  type Signal,
  stagesNeedingYou,
} from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useLocation } from 'react-router';
import { boardQuery } from '../data/queries.ts';
import { shownAt, usePresence } from './looking.ts';
import { followSeenFinished, seeFinished, useSeenFinished } from './seen-finished.ts';

const PAGES: Readonly<Record<string, string>> = {
  '/': '',
  '/inbox': 'Inbox',
  '/sessions': 'Sessions',
  '/decisions': 'Decisions',
  '/notifications': 'Notifications',
};
const NOT_FOUND = 'Not found';
const ICON = 'link[rel="icon"]';

/** How many stages give each signal. One stage gives one: a failure is not also counted as waiting. */
export type SignalCounts = Readonly<Record<Signal, number>>;

type Seen = Pick<BoardView, 'stages' | 'pending' | 'unsettled'>;

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

/** Shows in the browser tab's title and icon what there is to tell, and notes what the person has seen. */
export function useTabTitle(): void {
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
    select: (view) => view.stages.find((other) => other.id === stageId)?.title ?? NOT_FOUND,
  });
  const page = PAGES[pathname] ?? stage ?? '';
  const watching = usePresence();
  useEffect(followSeenFinished, []);
  const { data: finished } = useQuery({ ...boardQuery, select: finishedOf });
  useEffect(() => {
    if (finished !== undefined && watching !== null) seeFinished(finished, watching);
  }, [finished, watching]);
  useEffect(() => {
    document.title = pageTitle(counts, settings, page);
  }, [counts, settings, page]);
  useEffect(() => {
    document.querySelector(ICON)?.setAttribute('href', pageIcon(counts, settings));
  }, [counts, settings]);
}
