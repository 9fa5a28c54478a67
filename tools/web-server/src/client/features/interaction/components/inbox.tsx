import type { PendingRequest } from '@callboard/contract';
import { Link, useSearchParams } from 'react-router';
import { askSummary, requestKey } from '../../../lib/request-words.ts';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useFolder, usePending, useStageTitle } from '../api/use-request.ts';
import { inOrder } from '../model/overlay-queue.ts';
import css from './inbox.module.css';
import { RequestSection } from './request-section.tsx';

const PARAM = 'request';

/** All that waits: a list, the longest waiting first, and the chosen one beside it. The next one follows an answer. */
export function Inbox() {
  const requests = inOrder(usePending());
  const [params] = useSearchParams();
  const wanted = params.get(PARAM);
  const selected = requests.find((request) => requestKey(request) === wanted) ?? requests[0];
  if (selected === undefined) return <NothingWaits />;
  return (
    <div className={css.inbox} data-detail={wanted !== null}>
      <section className={css.pane} aria-labelledby="inbox-title">
        <h1 className={css.head} id="inbox-title">
          Inbox
        </h1>
        <ul className={css.list}>
          {requests.map((request) => (
            <li key={requestKey(request)}>
              <Row request={request} isSelected={request === selected} />
            </li>
          ))}
        </ul>
      </section>
      <div className={css.detail}>
        <nav className={css.links} aria-label="Request">
          <Link className={css.back} to="/inbox">
            All {requests.length}
          </Link>
          <Link to={`/stages/${selected.stageId}`}>Open the stage</Link>
        </nav>
        <RequestSection key={requestKey(selected)} request={selected} takesKeys />
      </div>
    </div>
  );
}

function Row({ request, isSelected }: { request: PendingRequest; isSelected: boolean }) {
  const title = useStageTitle(request.stageId);
  const summary = askSummary(request, useFolder(request.stageId));
  return (
    <Link
      className={css.row}
      to={`/inbox?${new URLSearchParams({ [PARAM]: requestKey(request) })}`}
      aria-current={isSelected}
    >
      <div className={css.rowTop}>
        <span className={css.rowTitle}>{title}</span>
        <span className={css.rowTime}>
          <TimeSince at={request.createdAt} />
        </span>
      </div>
      <div className={css.rowAsk}>{summary}</div>
    </Link>
  );
}

function NothingWaits() {
  return (
    <div className={css.empty}>
      <h1 className={css.head}>Inbox</h1>
      <p>Nothing waits for you. Requests of all stages come here, the longest waiting first.</p>
    </div>
  );
}
