import type { PendingRequest } from '@callboard/contract';
import { Button } from '@mantine/core';
import { type ReactElement, type ReactNode, useEffect, useId } from 'react';
import { count } from '../../../lib/format.ts';
import { requestKey } from '../../../lib/request-text.ts';
import type { ItemOutcome, useDecideAll } from '../api/use-decide.ts';
import { useMe } from '../api/use-me.ts';
import { useStageTitle } from '../api/use-request.ts';
import type { InboxPositions } from '../model/inbox-filter.ts';
import type { InboxGroup } from '../model/inbox-groups.ts';
import type { InboxItem } from '../model/inbox-items.ts';
import { useInboxPicks } from '../model/inbox-picks.ts';
import css from './inbox.module.css';
import picking from './inbox-picking.module.css';
import { PickBox, RequestRow, StageRow } from './inbox-rows.tsx';

interface InboxListProps {
  groups: readonly InboxGroup[];
  /** The requests that the person set aside. */
  later: readonly PendingRequest[];
  items: readonly InboxItem[];
  /** `selected` is the key of the row that is shown, `wanted` of the one that was asked for. */
  selected: string | undefined;
  wanted: string | null;
  places: InboxPositions;
  others: ReactNode;
  hasOthers: boolean;
  /** Whether there are items that the filter hides. */
  isFiltered: boolean;
  decideAll: ReturnType<typeof useDecideAll>;
  /** Picks the requests of a group, and shows them together. */
  inspect: (group: InboxGroup) => void;
}

/** The list: single requests, equal requests under a header that leads to a look at them all, and stopped stages. */
export function InboxList(props: InboxListProps) {
  const { groups, later, items, selected, wanted, places, others, hasOthers, isFiltered, decideAll, inspect } = props;
  const isEmpty = !hasOthers && items.length === 0;
  useResetReportOnNextStep(decideAll, wanted, isEmpty);
  const isPicking = useInboxPicks((state) => state.isPicking || state.picked.size > 0);
  const laterUntil = new Map(useMe().later.map((one) => [requestKey(one), one.until]));
  const stopped = items.flatMap((item) => (item.kind === 'stage' ? [item] : []));
  const addresses = new Map(items.map(({ key, address }) => [key, address]));
  const rowOf = (request: PendingRequest) => {
    const key = requestKey(request);
    const place = places[request.stageId];
    const row = { isSelected: key === selected, address: addresses.get(key) ?? '/inbox', place };
    return { key, row };
  };
  const requestRow = (request: PendingRequest) => {
    const { key, row } = rowOf(request);
    return (
      <li key={key} className={picking.rowPlace}>
        <RequestRow {...row} request={request} />
        <PickBox request={request} title={row.place?.title ?? request.stageId} />
      </li>
    );
  };
  return (
    <div className={css.listPane} data-picking={isPicking}>
      <div role="status">
        {decideAll.data !== undefined && decideAll.data.length > 0 && (
          <Report outcomes={decideAll.data} dismiss={decideAll.reset} />
        )}
      </div>
      {others}
      {isEmpty && (
        <p className={css.empty}>
          {isFiltered
            ? 'Nothing that matches the filter is waiting for you.'
            : 'Nothing is waiting for you. Requests and stopped stages appear here, the longest waiting first.'}
        </p>
      )}
      <ul className={css.list}>
        {groups.map((group) => {
          const rows = group.requests.map(requestRow);
          if (group.requests.length === 1) return rows;
          return (
            <li key={group.key} className={css.group}>
              <GroupHead group={group} inspect={inspect} />
              <ul>{rows}</ul>
            </li>
          );
        })}
      </ul>
      <Section title="Later">
        {later.map((request) => {
          const { key, row } = rowOf(request);
          return <RequestRow key={key} {...row} request={request} isLater until={laterUntil.get(key) ?? null} />;
        })}
      </Section>
      <Section title="Stopped">
        {stopped.map(({ key, stage, address }) => (
          <StageRow key={key} stage={stage} place={places[stage.id]} isSelected={key === selected} address={address} />
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

interface GroupHeadProps {
  group: InboxGroup;
  inspect: (group: InboxGroup) => void;
}

/** How many equal requests there are. They are decided together after a look at each. */
function GroupHead({ group, inspect }: GroupHeadProps) {
  const { requests, rule } = group;
  const n = requests.length;
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
      <Button variant="subtle" size="compact-sm" aria-keyshortcuts="Shift+X" onClick={() => inspect(group)}>
        Look at all {n}
      </Button>
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
        {count(done, 'request', 'requests')} {outcomes.find((outcome) => !outcome.failed)?.text ?? 'decided'}
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

function ReportLine({ outcome: { request, text } }: { outcome: ItemOutcome }) {
  return (
    <li>
      {useStageTitle(request.stageId)}: {text}
    </li>
  );
}
