import { type PendingRequest, visibleText } from '@callboard/contract';
import { exactTime, shortDuration } from '../../../lib/format.ts';
import { useNow } from '../../../lib/use-now.ts';
import { HiddenNote } from '../../../ui/seen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { usePhaseName, useProjectName } from '../api/use-request.ts';
import { askedTexts } from '../model/asked-texts.ts';
import css from './request.module.css';

/** When the request expires, if its project has a time limit. */
function Expiry({ at }: { at: string }) {
  return <span title={exactTime(at)}>denied by itself in {shortDuration(Date.parse(at) - useNow())}</span>;
}

/** Where a request comes from, since when it waits, and whether it contains hidden characters. */
export function RequestMeta({ request }: { request: PendingRequest }) {
  const project = useProjectName(request.stageId);
  const phase = usePhaseName(request.stageId);
  return (
    <>
      <div className={css.meta}>
        {project !== undefined && <span>{project}</span>}
        <span className={css.stageId}>{request.stageId}</span>
        {phase !== undefined && <span>{phase}</span>}
        <span>
          asked <TimeSince at={request.createdAt} ago />
          {request.agent !== null && ` by agent “${visibleText(request.agent, 'prose')}”`}
        </span>
        {request.expiresAt !== null && <Expiry at={request.expiresAt} />}
      </div>
      <HiddenNote texts={askedTexts(request)} />
    </>
  );
}
