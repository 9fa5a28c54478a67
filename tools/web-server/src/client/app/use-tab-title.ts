import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useLocation } from 'react-router';
import { boardQuery } from '../data/queries.ts';
import { needsYouCount } from '../lib/stages-needing-you.ts';

const PAGES: Readonly<Record<string, string>> = {
  '/': '',
  '/inbox': 'Inbox',
  '/sessions': 'Sessions',
  '/decisions': 'Decisions',
};
const NOT_FOUND = 'Not found';
const ICON = 'link[rel="icon"]';

/** "(2) Login form · Callboard": how many stages need a person, then the page. */
function pageTitle(waiting: number, page: string): string {
  const name = page === '' ? 'Callboard' : `${page} · Callboard`;
  return waiting === 0 ? name : `(${waiting}) ${name}`;
}

/** Shows in the browser tab's title and icon how many stages need a person. */
export function useTabTitle(): void {
  const { pathname } = useLocation();
  const stageId = pathname.startsWith('/stages/') ? pathname.slice('/stages/'.length) : null;
  const { data: waiting = 0 } = useQuery({ ...boardQuery, select: needsYouCount });
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => view.stages.find((other) => other.id === stageId)?.title ?? NOT_FOUND,
  });
  const page = PAGES[pathname] ?? stage ?? '';
  useEffect(() => {
    document.title = pageTitle(waiting, page);
  }, [waiting, page]);
  useEffect(() => {
    const icon = waiting > 0 ? '/favicon-needs-you.svg' : '/favicon.svg';
    document.querySelector(ICON)?.setAttribute('href', icon);
  }, [waiting]);
}
