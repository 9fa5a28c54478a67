import { shortDuration } from '../lib/format.ts';
import { useNow } from '../lib/use-now.ts';
import { exactOnHover } from './exact-on-hover.ts';

const JUST_NOW_MS = 5_000;

/** How long ago something was; the exact time on hover. */
export function TimeSince({ at, ago = false }: { at: string; ago?: boolean }) {
  const ms = useNow() - Date.parse(at);
  const span = shortDuration(ms);
  const text = ms < JUST_NOW_MS ? 'just now' : `${span} ago`;
  return (
    <time dateTime={at} {...exactOnHover(at)}>
      {ago ? text : span}
    </time>
  );
}
