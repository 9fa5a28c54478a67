import type { PendingRequest } from '@callboard/contract';
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { askSummary, requestKey } from '../../../lib/request-words.ts';
import { count } from '../../../lib/time.ts';
import { useCanAnswer } from '../../../live/live-context.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { type ItemOutcome, useDecideAll } from '../api/use-decide.ts';
import { useFolder, useProjectName, useStageTitle } from '../api/use-request.ts';
import type { InboxGroup } from '../model/inbox-groups.ts';
import css from './inbox.module.css';
import { ROW } from './inbox-keys.ts';

interface InboxListProps {
  groups: readonly InboxGroup[];
  selected: PendingRequest | undefined;
  addressOf: (key: string) => string;
  others: ReactNode;
  isEmpty: boolean;
}

/** The list: single requests, and equal ones under one head that decides them all. */
export function InboxList({ groups, selected, addressOf, others, isEmpty }: InboxListProps) {
  const decideAll = useDecideAll();
  return (
    <div className={css.listPane}>
      <div role="status">
        {decideAll.data !== undefined && <Report outcomes={decideAll.data} dismiss={decideAll.reset} />}
      </div>
      {others}
      {isEmpty && (
        <p className={css.empty}>Nothing waits for you. Requests of all stages come here, the longest waiting first.</p>
      )}
      <ul className={css.list}>
        {groups.map((group) => {
          const rows = group.requests.map((request) => (
            <li key={requestKey(request)}>
              <Row request={request} isSelected={request === selected} address={addressOf(requestKey(request))} />
            </li>
          ));
          if (group.requests.length === 1) return rows;
          return (
            <li key={group.key} className={css.group}>
              <GroupHead group={group} decideAll={decideAll} />
              <ul>{rows}</ul>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

interface GroupHeadProps {
  group: InboxGroup;
  decideAll: ReturnType<typeof useDecideAll>;
}

function GroupHead({ group: { requests, rule }, decideAll }: GroupHeadProps) {
  const off = !useCanAnswer() || decideAll.isPending;
  const n = requests.length;
  const isMine = decideAll.isPending && decideAll.variables.requests === requests;
  const button = (decision: 'allow' | 'deny', label: string) => (
    <Button
      size="compact-sm"
      variant={decision === 'allow' ? 'filled' : 'default'}
      disabled={off}
      loading={isMine && decideAll.variables?.decision === decision}
      onClick={() => decideAll.mutate({ requests, decision })}
    >
      {label}
    </Button>
  );
  return (
    <div className={css.groupHead}>
      <span className={css.groupWords}>
        {rule === null ? (
          `${n} equal requests`
        ) : (
          <>
            {n} under the rule <code>{rule}</code>
          </>
        )}
      </span>
      <span className={css.groupButtons}>
        {button('deny', `Deny all ${n}`)}
        {button('allow', `Allow all ${n}`)}
      </span>
    </div>
  );
}

/** How each of them came out. */
function Report({ outcomes, dismiss }: { outcomes: readonly ItemOutcome[]; dismiss: () => void }) {
  const failed = outcomes.filter((outcome) => outcome.failed).length;
  const done = outcomes.length - failed;
  return (
    <div className={css.report}>
      <p>
        {count(done, 'request', 'requests')} {outcomes.find((outcome) => !outcome.failed)?.words ?? 'decided'}
        {failed > 0 && `, ${failed} not`}.
      </p>
      <ul>
        {outcomes.map((outcome) => (
          <ReportLine key={requestKey(outcome.request)} outcome={outcome} />
        ))}
      </ul>
      <Button variant="subtle" color="gray" size="compact-sm" onClick={dismiss}>
        Dismiss
      </Button>
    </div>
  );
}

function ReportLine({ outcome: { request, words } }: { outcome: ItemOutcome }) {
  return (
    <li>
      {useStageTitle(request.stageId)}: {words}
    </li>
  );
}

interface RowProps {
  request: PendingRequest;
  isSelected: boolean;
  address: string;
}

function Row({ request, isSelected, address }: RowProps) {
  const title = useStageTitle(request.stageId);
  const project = useProjectName(request.stageId);
  const summary = askSummary(request, useFolder(request.stageId));
  return (
    <Link className={css.row} to={address} aria-current={isSelected} {...{ [ROW]: requestKey(request) }}>
      <div className={css.rowTop}>
        <span className={css.rowTitle}>{title}</span>
        <span className={css.rowTime}>
          <TimeSince at={request.createdAt} />
        </span>
      </div>
      <div className={css.rowAsk}>{summary}</div>
      <div className={css.rowFrom}>
        {project}
        {request.agent !== null && ` · agent “${request.agent}”`}
      </div>
    </Link>
  );
}
