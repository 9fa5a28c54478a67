import { useEffect, useRef } from 'react';
import { UNREADY_MS } from '../model/arming.ts';
import { useInboxPicks } from '../model/inbox-picks.ts';
import css from './inbox-together.module.css';

/** The end of a request: once it was in sight for as long as a button must be, the request counts as looked at. */
export function Viewed({ about }: { about: string }) {
  const end = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const element = end.current;
    if (element === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const check = () => {
      if (document.visibilityState === 'visible') useInboxPicks.getState().check(about);
    };
    const observer = new IntersectionObserver(([entry]) => {
      clearTimeout(timer);
      if (entry?.isIntersecting === true) timer = setTimeout(check, UNREADY_MS);
    });
    observer.observe(element);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [about]);
  return <span ref={end} className={css.end} data-end-of={about} aria-hidden />;
}
