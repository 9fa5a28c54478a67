import { type PendingRequest, type StageView, waitingSince } from '@callboard/contract';
import { Checkbox } from '@mantine/core';
import { memo, type ReactNode } from 'react';
import { Link } from 'react-router';
import { clockTime } from '../../../lib/format.ts';
import { stoppedText } from '../../../lib/needs-you-words.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { KindIcon } from '../../../ui/kind-icon.tsx';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { TextWithPath } from '../../../ui/text-with-path.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { askFor } from '../model/arming-store.ts';
import type { InboxPosition } from '../model/inbox-filter.ts';
import { mayBeDecidedAsBatch } from '../model/inbox-groups.ts';
import { useInboxPicks } from '../model/inbox-picks.ts';
import { askPath, askSummary } from '../words/request-words.ts';
import css from './inbox.module.css';
import { ROW } from './inbox-keys.ts';
import picking from './inbox-picking.module.css';

interface RowProps {
  isSelected: boolean;
  address: string;
  /** The stage that it is about; undefined for a stage that was just removed. */
  place: InboxPosition | undefined;
}

interface RequestRowProps extends RowProps {
  request: PendingRequest;
  isLater?: boolean;
  /** Until when it was set aside; null: for good. */
  until?: string | null;
}

/** A request. Drawn again only if it, its stage or its selection changes: there may be hundreds. */
export const RequestRow = memo(function RequestRow({ request, isLater = false, until, ...row }: RequestRowProps) {
  const { kind, toolName, held } = request;
  const folder = row.place?.folder ?? null;
  const summary = askSummary(request, folder);
  return (
    <Row {...row} id={requestKey(request)} stageId={request.stageId} at={request.createdAt}>
      <div className={css.rowAsk} title={summary}>
        <KindIcon kind={kind} toolName={toolName} size={14} />
        <span className={css.rowText}>
          <TextWithPath text={summary} path={askPath(request, folder)} isLine />
        </span>
      </div>
      {held !== undefined && <div className={css.rowMore}>{held.by} is answering</div>}
      {request.agent !== null && <div className={css.rowMore}>by agent “{request.agent}”</div>}
      {isLater && until != null && <div className={css.rowMore}>calls again at {clockTime(until)}</div>}
    </Row>
  );
});

/** Picks a request, to decide it with others. */
export const PickBox = memo(function PickBox({ request, title }: { request: PendingRequest; title: string }) {
  const key = requestKey(request);
  const isPicked = useInboxPicks(({ picked }) => picked.has(key));
  const toggle = useInboxPicks((state) => state.toggle);
  if (!mayBeDecidedAsBatch(request)) return null;
  return (
    <Checkbox
      className={picking.pick}
      size="xs"
      aria-label={`Pick ${title}`}
      checked={isPicked}
      data-picked={isPicked}
      onChange={() => toggle([key])}
    />
  );
});

/** A stage that has stopped. */
export const StageRow = memo(function StageRow({ stage, ...row }: RowProps & { stage: StageView }) {
  const { text, tone } = stoppedText(stage);
  return (
    <Row {...row} id={String(stage.id)} stageId={stage.id} at={waitingSince(stage)}>
      <div className={css.rowAsk} data-tone={tone} title={text}>
        <span className={css.rowText}>{text}</span>
      </div>
    </Row>
  );
});

interface RowFrameProps extends RowProps {
  id: string;
  stageId: StageView['id'];
  at: string;
  children: ReactNode;
}

/** The frame of a row: its stage, since when it waits, and its project. */
function Row({ id, stageId, at, isSelected, address, place, children }: RowFrameProps) {
  const title = place?.title ?? stageId;
  return (
    <Link className={css.row} to={address} aria-current={isSelected} {...{ [ROW]: id }} onClick={() => askFor(id)}>
      <div className={css.rowTop}>
        {place?.project !== undefined && (
          <span className={css.rowProject} title={place.project}>
            <ProjectMark name={place.project} />
          </span>
        )}
        <span className={css.rowTitle} title={title}>
          {title}
        </span>
        <span className={css.rowId}>
          <StageIdText id={stageId} />
        </span>
        <span className={css.rowTime}>
          <TimeSince at={at} />
        </span>
      </div>
      {children}
    </Link>
  );
}
