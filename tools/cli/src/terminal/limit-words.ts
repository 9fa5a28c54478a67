import type { LimitWait } from '@callboard/contract';

/** Says when a stage goes on that stopped at a usage limit: "usage limit, goes on at 14:05". */
export function limitWords({ goesOnAt, resetsAt }: LimitWait): string {
  if (goesOnAt !== null) return `usage limit, goes on at ${timeOf(goesOnAt)}`;
  return resetsAt === null ? 'usage limit' : `usage limit until ${timeOf(resetsAt)}`;
}

/** The time of day, with the day if that is not today's. */
function timeOf(at: string): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  return isToday ? time : `${date.toLocaleDateString('en-CA')} ${time}`;
}
