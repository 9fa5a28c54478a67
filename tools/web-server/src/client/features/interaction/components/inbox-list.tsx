import type { PendingRequest, StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { type ReactElement, type ReactNode, useEffect, useId } from 'react';
import { Link } from 'react-router';
import { clockTime, count } from '../../../lib/format.ts';
import { stoppedWords } from '../../../lib/needs-you-words.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { waitingSince } from '../../../lib/stages-needing-you.ts';
import { useCanAnswer } from '../../../stream/stream-context.tsx';
import { KindIcon } from '../../../ui/kind-icon.tsx';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { TextWithPath } from '../../../ui/text-with-path.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { type ItemOutcome, useDecideAll } from '../api/use-decide.ts';
import { useLaterOf } from '../api/use-me.ts';
import { useFolder, useProjectName, useStageTitle } from '../api/use-request.ts';
import { askFor } from '../model/arming-store.ts';
import type { InboxGroup } from '../model/inbox-groups.ts';
import type { InboxItem } from '../model/inbox-items.ts';
import { askPath, askSummary } from '../words/request-words.ts';
import { DecisionButton, DecisionPlace } from './decision-place.tsx';
import css from './inbox.module.css';
import { ROW } from './inbox-keys.ts';

interface InboxListProps {
  groups: readonly InboxGroup[];
  /** The requests that the person set aside. */
  later: readonly PendingRequest[];
  items: readonly InboxItem[];
  /** `selected` is the key of the row that is shown, `wanted` of the one that was asked for. */
  selected: string | undefined;
  wanted: string | null;
  others: ReactNode;
  hasOthers: boolean;
}

/** The list: single requests, equal requests under a header that decides them all, and stopped stages. */
export function InboxList({ groups, later, items, selected, wanted, others, hasOthers }: InboxListProps) {
  const decideAll = useDecideAll();
  const isEmpty = !hasOthers && items.length === 0;
  useResetReportOnNextStep(decideAll, wanted, isEmpty);
  const stopped = items.flatMap((item) => (item.kind === 'stage' ? [item] : []));
  const addresses = new Map(items.map(({ key, address }) => [key, address]));
  return (
    <div className={css.listPane}>
      <div role="status">
        {decideAll.data !== undefined && <Report outcomes={decideAll.data} dismiss={decideAll.reset} />}
      </div>
      {others}
      {isEmpty && (
        <p className={css.empty}>
          Nothing waits for you. Requests and stopped stages appear here, the longest waiting first.
        </p>
      )}
      <ul className={css.list}>
        {groups.map((group) => {
          const rows = group.requests.map((request) => {
            const key = requestKey(request);
            return (
              <li key={key}>
                <RequestRow request={request} isSelected={key === selected} address={addresses.get(key) ?? '/inbox'} />
              </li>
            );
          });
          if (group.requests.length === 1) return rows;
          return (
            <li key={group.key} className={css.group}>
              <DecisionPlace key={rowKeys(group)} about={rowKeys(group)} takesKeys={false}>
                <GroupHead group={group} decideAll={decideAll} />
              </DecisionPlace>
              <ul>{rows}</ul>
            </li>
          );
        })}
      </ul>
      <Section title="Later">
        {later.map((request) => {
          const key = requestKey(request);
          const row = { isSelected: key === selected, address: addresses.get(key) ?? '/inbox' };
          return <RequestRow key={key} {...row} request={request} isLater />;
        })}
      </Section>
      <Section title="Stopped">
        {stopped.map(({ key, stage, address }) => (
          <StageRow key={key} stage={stage} isSelected={key === selected} address={address} />
        ))}
      </Section>
    </div>
  );
}

/** Rows under a heading; nothing without rows. */
function Section({ title, children }: { title: string; children: ReactElement[] }) {
  const titleId = useId();
  if (children.length === 0) return null;
  return (
    <section aria-labelledby={titleId}>
      <h2 className={css.subhead} id={titleId}>
        {title}
      </h2>
      <ul className={css.list}>
        {children.map((row) => (
          <li key={row.key}>{row}</li>
        ))}
      </ul>
    </section>
  );
}

/**
 * Removes a report of success once a person selects another row, or once an item enters an empty list. A person dismisses
 * a report of failure.
 */
function useResetReportOnNextStep(
  { data, reset }: ReturnType<typeof useDecideAll>,
  wanted: string | null,
  isEmpty: boolean,
): void {
  const isGood = data?.every(({ failed }) => !failed) === true;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the report goes when these change, not when it arrives
  useEffect(() => {
    if (isGood && !isEmpty) reset();
  }, [wanted, isEmpty]);
}

/** The React key of a group: a request more or less makes its buttons new ones. */
const rowKeys = ({ requests }: InboxGroup) => requests.map(requestKey).join();

interface GroupHeadProps {
  group: InboxGroup;
  decideAll: ReturnType<typeof useDecideAll>;
}

function GroupHead({ group: { requests, rule }, decideAll }: GroupHeadProps) {
  const off = !useCanAnswer() || decideAll.isPending;
  const n = requests.length;
  const isMine = decideAll.isPending && decideAll.variables.requests === requests;
  const button = (decision: 'allow' | 'deny', label: string) => (
    <DecisionButton
      size="compact-sm"
      variant={decision === 'allow' ? 'filled' : 'default'}
      disabled={off}
      loading={isMine && decideAll.variables?.decision === decision}
      act={() => decideAll.mutate({ requests, decision })}
    >
      {label}
    </DecisionButton>
  );
  return (
    <div className={css.groupHead}>
      <span className={css.groupWords}>
        {rule === null ? (
          `${n} identical requests`
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

/** The outcome of each request. */
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
  isSelected: boolean;
  address: string;
}

function RequestRow({ request, isLater = false, ...row }: RowProps & { request: PendingRequest; isLater?: boolean }) {
  const folder = useFolder(request.stageId);
  const until = useLaterOf(request)?.until ?? null;
  const { kind, toolName } = request;
  return (
    <Row {...row} id={requestKey(request)} stageId={request.stageId} at={request.createdAt}>
      <div className={css.rowAsk} title={askSummary(request, folder)}>
        <KindIcon kind={kind} toolName={toolName} size={14} />
        <span className={css.rowText}>
          <TextWithPath text={askSummary(request, folder)} path={askPath(request, folder)} isLine />
        </span>
      </div>
      {request.agent !== null && <div className={css.rowMore}>by agent “{request.agent}”</div>}
      {isLater && until !== null && <div className={css.rowMore}>calls again at {clockTime(until)}</div>}
    </Row>
  );
}

function StageRow({ stage, ...row }: RowProps & { stage: StageView }) {
  const { text, tone } = stoppedWords(stage);
  return (
    <Row {...row} id={String(stage.id)} stageId={stage.id} at={waitingSince(stage)}>
      <div className={css.rowAsk} data-tone={tone} title={text}>
        <span className={css.rowText}>{text}</span>
      </div>
    </Row>
  );
}

interface RowFrameProps extends RowProps {
  id: string;
  stageId: StageView['id'];
  at: string;
  children: ReactNode;
}

/** The frame of a row: its stage, since when it waits, and its project. */
function Row({ id, stageId, at, isSelected, address, children }: RowFrameProps) {
  const title = useStageTitle(stageId);
  const project = useProjectName(stageId);
  return (
    <Link className={css.row} to={address} aria-current={isSelected} {...{ [ROW]: id }} onClick={() => askFor(id)}>
      <div className={css.rowTop}>
        {project !== undefined && (
          <span className={css.rowProject} title={project}>
            <ProjectMark name={project} />
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
