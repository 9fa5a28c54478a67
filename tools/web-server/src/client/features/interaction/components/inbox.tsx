import { type PendingRequest, type StageId, type StageView, stoppedStages } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { boardQuery } from '../../../data/queries.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { useDecideAll } from '../api/use-decide.ts';
import { useNotDelayedByMe } from '../api/use-held.ts';
import { useAside } from '../api/use-me.ts';
import { askFor } from '../model/arming-store.ts';
import {
  type InboxFilter,
  inboxAddress,
  inboxPositions,
  matchesInbox,
  ofRequest,
  ofStopped,
  readInboxFilter,
} from '../model/inbox-filter.ts';
import { followerOf, type InboxGroup, inboxGroups, mayBeDecidedAsBatch } from '../model/inbox-groups.ts';
import { type InboxItem, inboxItems, wantedKey } from '../model/inbox-items.ts';
import { useInboxPicks } from '../model/inbox-picks.ts';
import { inOrder } from '../model/overlay-queue.ts';
import { DelayedAnswers } from './held-answers.tsx';
import css from './inbox.module.css';
import { InboxFilters } from './inbox-filters.tsx';
import { useInboxKeys } from './inbox-keys.ts';
import { InboxList } from './inbox-list.tsx';
import picking from './inbox-picking.module.css';
import { InboxStage } from './inbox-stage.tsx';
import { batchKey, InboxBatch } from './inbox-together.tsx';
import { Viewed } from './looked-at.tsx';
import { RequestSection } from './request-section.tsx';
import { ROOM } from './use-free-height.ts';

interface InboxProps {
  /** Items above the list that are neither a request nor a stopped stage. */
  others: ReactNode;
  hasOthers: boolean;
}

/**
 * Everything that needs a person: the requests, longest-waiting first, those that the person set aside, then the stages that
 * need a person without one. The selected item is shown beside the list, or those that were picked together; when it is gone,
 * the next one follows.
 */
export function Inbox({ others, hasOthers }: InboxProps) {
  const [params] = useSearchParams();
  const filter = readInboxFilter(params);
  const { groups, later, items, picked, places, all } = useInboxContent(filter);
  const wanted = wantedKey(params);
  const selected = useSelected(items, wanted);
  const navigate = useNavigate();
  const decideAll = useDecideAll();
  const isBatch = picked.length > 1;
  const { toggle, clear } = useInboxPicks.getState();
  const pick = (keys: readonly string[]) => {
    toggle(keys);
    const now = useInboxPicks.getState().picked;
    askFor(batchKey(items.flatMap(({ kind, key }) => (kind === 'request' && now.has(key) ? [key] : []))));
  };
  const showBatch = () => void navigate(inboxAddress(filter, { name: BATCH, key: '1' }));
  const endPicking = () => {
    clear();
    if (params.has(BATCH)) void navigate(inboxAddress(filter), { replace: true });
  };
  const inspect = ({ requests }: InboxGroup) => {
    clear();
    pick(requests.map(requestKey));
    showBatch();
  };
  useInboxKeys({
    keys: items.map(({ key }) => key),
    selected: selected?.key ?? null,
    select: (key) => {
      const item = items.find((other) => other.key === key);
      if (item === undefined) return;
      askFor(key);
      void navigate(item.address, { replace: true });
    },
    open: () => selected !== undefined && void navigate(`/stages/${selected.stageId}`),
    pick(key, isGroup) {
      const group = groups.find(({ requests }) => requests.some((one) => requestKey(one) === key));
      const mine = (group?.requests ?? []).filter((one) => isGroup || requestKey(one) === key);
      const keys = mine.filter(mayBeDecidedAsBatch).map(requestKey);
      if (keys.length > 0) pick(keys);
      return keys.length > 0;
    },
    endPicking: picked.length > 0 ? endPicking : null,
  });
  return (
    <div
      className={css.inbox}
      data-detail={isBatch ? params.has(BATCH) : wanted !== null && selected !== undefined}
      data-empty={selected === undefined}
    >
      <div className={css.held}>
        <DelayedAnswers />
      </div>
      <section className={css.pane} aria-labelledby="inbox-title">
        <PaneHead canPick={groups.flatMap(({ requests }) => requests).filter(mayBeDecidedAsBatch).length > 1} />
        <InboxFilters filter={filter} rows={all} shown={items.length} />
        <InboxList
          groups={groups}
          later={later}
          items={items}
          wanted={wanted}
          places={places}
          others={others}
          hasOthers={hasOthers}
          decideAll={decideAll}
          inspect={inspect}
          selected={isBatch ? undefined : selected?.key}
          isFiltered={items.length < all.length}
        />
        {picked.length > 0 && <PickedBar count={picked.length} show={showBatch} clear={endPicking} />}
      </section>
      <div className={css.detail}>
        {isBatch ? (
          <BatchDetail requests={picked} decideAll={decideAll} back={endPicking} />
        ) : (
          selected !== undefined && <Detail item={selected} count={items.length} list={inboxAddress(filter)} />
        )}
      </div>
    </div>
  );
}

/** In the address while a phone shows the picked requests instead of the list. */
const BATCH = 'together';

/** Returns the rows that the filter shows, and what the filter looks at in all of them. */
function useInboxContent(filter: InboxFilter) {
  const pending = useNotDelayedByMe();
  const { data: stopped = [] } = useQuery({ ...boardQuery, select: stoppedStages });
  const { data: places = {} } = useQuery({ ...boardQuery, select: inboxPositions });
  const aside = useAside();
  const isPicked = useInboxPicks((state) => state.picked);
  const { project, kind, risk } = filter;
  return useMemo(() => {
    const shown = { project, kind, risk };
    const projectOf = (stageId: StageId) => places[stageId]?.projectId ?? '';
    const requestRow = (request: PendingRequest) => ofRequest(request, projectOf(request.stageId));
    const stageRow = (stage: StageView) => ofStopped(projectOf(stage.id));
    const requests = pending.filter((request) => matchesInbox(requestRow(request), shown));
    const isAside = (request: PendingRequest) => aside.has(requestKey(request));
    const folderOf = (stageId: StageId) => places[stageId]?.folder ?? null;
    const groups = inboxGroups(
      requests.filter((request) => !isAside(request)),
      folderOf,
    );
    const later = inOrder(requests.filter(isAside));
    const open = groups.flatMap((group) => group.requests);
    const rows = {
      requests: [...open, ...later],
      stopped: stopped.filter((stage) => matchesInbox(stageRow(stage), shown)),
    };
    return {
      groups,
      later,
      places,
      items: inboxItems(rows, shown),
      picked: open.filter((request) => isPicked.has(requestKey(request))),
      all: [...pending.map(requestRow), ...stopped.map(stageRow)],
    };
  }, [pending, stopped, places, aside, isPicked, project, kind, risk]);
}

function PaneHead({ canPick }: { canPick: boolean }) {
  const startPicking = useInboxPicks((state) => state.startPicking);
  const isPicking = useInboxPicks((state) => state.isPicking || state.picked.size > 0);
  return (
    <div className={css.paneHead}>
      <h1 className={css.head} id="inbox-title">
        Inbox
      </h1>
      <div>
        {canPick && !isPicking && (
          <Button variant="subtle" color="gray" size="compact-sm" onClick={startPicking}>
            Pick
          </Button>
        )}
        <Button component={Link} to="/rules" variant="subtle" color="gray" size="compact-sm">
          Rules
        </Button>
      </div>
    </div>
  );
}

interface PickedBarProps {
  count: number;
  show: () => void;
  clear: () => void;
}

/** How many are picked. From two on they are shown beside the list; on a phone after a tap. */
function PickedBar({ count, show, clear }: PickedBarProps) {
  return (
    <div className={picking.pickedBar}>
      <span role="status">{count === 1 ? '1 picked: pick another to decide both' : `${count} picked`}</span>
      {count > 1 && (
        <Button className={picking.showPicked} size="compact-sm" onClick={show}>
          Look at them
        </Button>
      )}
      <Button variant="subtle" color="gray" size="compact-sm" aria-keyshortcuts="Escape" onClick={clear}>
        Clear
      </Button>
    </div>
  );
}

interface BatchDetailProps {
  requests: readonly PendingRequest[];
  decideAll: ReturnType<typeof useDecideAll>;
  back: () => void;
}

function BatchDetail({ requests, decideAll, back }: BatchDetailProps) {
  return (
    <>
      <nav className={css.links} aria-label="Picked requests">
        <button type="button" className={css.back} onClick={back}>
          Back to the list
        </button>
        <span className={css.keys} aria-hidden>
          X to pick · L to look at the next · A D to decide all · Esc to clear
        </span>
      </nav>
      <div className={css.room}>
        <InboxBatch requests={requests} decideAll={decideAll} />
      </div>
    </>
  );
}

interface DetailProps {
  item: InboxItem;
  count: number;
  /** The list's address. */
  list: string;
}

/** The selected item with its actions. */
function Detail({ item, count, list }: DetailProps) {
  const isRequest = item.kind === 'request';
  return (
    <>
      <nav className={css.links} aria-label={isRequest ? 'Request' : 'Stage'}>
        <Link className={css.back} to={list}>
          All {count}
        </Link>
        <Link to={`/stages/${item.stageId}`}>Open the stage</Link>
        <span className={css.keys} aria-hidden>
          J K to move · {isRequest ? 'A D to decide · S for later · X to pick' : 'A to continue'} · Enter to open the
          stage
        </span>
      </nav>
      <div className={css.room} {...{ [ROOM]: true }}>
        {isRequest ? (
          <>
            <RequestSection key={item.key} request={item.request} isDetail />
            <Viewed about={item.key} />
          </>
        ) : (
          <InboxStage key={item.key} stage={item.stage} />
        )}
      </div>
    </>
  );
}

/** Returns the wanted item; if it is gone, the one that followed it in the previous list. */
function useSelected(items: readonly InboxItem[], wanted: string | null): InboxItem | undefined {
  const keys = items.map(({ key }) => key);
  const [seen, setSeen] = useState<{ keys: string[]; wanted: string | null; key: string | undefined }>({
    keys,
    wanted,
    key: undefined,
  });
  const last = wanted !== seen.wanted ? (wanted ?? undefined) : (seen.key ?? wanted ?? undefined);
  const isThere = last !== undefined && keys.includes(last);
  const key = isThere ? last : last === undefined ? keys[0] : followerOf(seen.keys, last, keys);
  if (key !== seen.key || wanted !== seen.wanted || keys.join() !== seen.keys.join()) setSeen({ keys, wanted, key });
  return items.find((item) => item.key === key);
}
