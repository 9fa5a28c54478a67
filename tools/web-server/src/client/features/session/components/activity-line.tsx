import { awaitsTasks, hasEnded, type StageId, type StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { useSessionNow } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { activityText, STARTING } from '../model/now-words.ts';
import css from './transcript.module.css';

/** Whether there is something to say at the end of the transcript. */
export const hasActivity = ({ session }: StageView): boolean =>
  session !== null && (session.state === 'starting' || session.state === 'busy' || awaitsTasks(session));

/** The last line of the transcript: what Claude does now, and for how long. */
export function ActivityLine({ stageId, isReading }: { stageId: StageId; isReading: boolean }) {
  const { data: session = null } = useQuery({
    ...boardQuery,
    select: (view) => stageOf(stageId)(view)?.session ?? null,
  });
  const now = useSessionNow(session);
  if (isReading) return <p className={css.working}>Reading the transcript…</p>;
  if (session === null || hasEnded(session.state)) return null;
  const { text, code } = session.state === 'starting' ? STARTING : activityText(now);
  return (
    <p className={css.working}>
      <span className={css.pulse} aria-hidden />
      <span className={css.doing}>
        {text}
        {code !== null && (
          <>
            {' '}
            <code title={code}>
              <Seen text={code} kind="command" />
            </code>
          </>
        )}
      </span>
      <TimeSince at={now !== null && 'since' in now ? now.since : session.stateSince} />
    </p>
  );
}
