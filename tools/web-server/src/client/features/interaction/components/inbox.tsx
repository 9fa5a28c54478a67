import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { boardQuery } from '../../../data/queries.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { stoppedStages } from '../../../lib/stages-needing-you.ts';
import { useNotHeldByMe } from '../api/use-held.ts';
import { useAside } from '../api/use-me.ts';

import { askFor } from '../model/arming-store.ts';
import { followerOf, inboxGroups } from '../model/inbox-groups.ts';
import { type InboxItem, inboxItems, wantedKey } from '../model/inbox-items.ts';
import { inOrder } from '../model/overlay-queue.ts';
import { useRulesDialog } from '../model/rules-dialog.ts';
import { HeldAnswers } from './held-answers.tsx';
import css from './inbox.module.css';
import { useInboxKeys } from './inbox-keys.ts';
import { InboxList } from './inbox-list.tsx';
import { InboxStage } from './inbox-stage.tsx';
import { RequestSection } from './request-section.tsx';
import { ROOM } from './use-free-height.ts';

interface InboxProps {
  /** Items above the list that are neither a request nor a stopped stage. */
  others: ReactNode;
  hasOthers: boolean;
}

/**
 * Everything that needs a person: the requests, longest-waiting first, those that the person set aside, then the stages that
 * need a person without one. The selected item is shown beside the list; when it is gone, the next one follows.
 */
export function Inbox({ others, hasOthers }: InboxProps) {
  const pending = useNotHeldByMe();
  const { data: stopped = [] } = useQuery({ ...boardQuery, select: stoppedStages });
  const aside = useAside();
  const groups = useMemo(() => inboxGroups(pending.filter((one) => !aside.has(requestKey(one)))), [pending, aside]);
  const later = useMemo(() => inOrder(pending.filter((one) => aside.has(requestKey(one)))), [pending, aside]);
  const items = inboxItems([...groups.flatMap((group) => group.requests), ...later], stopped);
  const [params] = useSearchParams();
  const wanted = wantedKey(params);
  const selected = useSelected(items, wanted);
  const navigate = useNavigate();
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
  });
  return (
    <div
      className={css.inbox}
      data-detail={wanted !== null && selected !== undefined}
      data-empty={selected === undefined}
    >
      <div className={css.held}>
        <HeldAnswers />
      </div>
      <section className={css.pane} aria-labelledby="inbox-title">
        <div className={css.paneHead}>
          <h1 className={css.head} id="inbox-title">
            Inbox
          </h1>
          <RulesButton />
        </div>
        <InboxList
          groups={groups}
          later={later}
          items={items}
          selected={selected?.key}
          wanted={wanted}
          others={others}
          hasOthers={hasOthers}
        />
      </section>
      <div className={css.detail}>{selected !== undefined && <Detail item={selected} count={items.length} />}</div>
    </div>
  );
}

/** The selected item with its actions. */
function Detail({ item, count }: { item: InboxItem; count: number }) {
  const isRequest = item.kind === 'request';
  return (
    <>
      <nav className={css.links} aria-label={isRequest ? 'Request' : 'Stage'}>
        <Link className={css.back} to="/inbox">
          All {count}
        </Link>
        <Link to={`/stages/${item.stageId}`}>Open the stage</Link>
        <span className={css.keys} aria-hidden>
          J K to move · {isRequest ? 'A D to decide · S for later' : 'A to continue'} · Enter to open the stage
        </span>
      </nav>
      <div className={css.room} {...{ [ROOM]: true }}>
        {isRequest ? (
          <RequestSection key={item.key} request={item.request} isDetail />
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

function RulesButton() {
  const open = useRulesDialog((state) => state.open);
  const { data: project } = useQuery({ ...boardQuery, select: (view) => view.projects[0] });
  if (project === undefined) return null;
  return (
    <Button variant="subtle" color="gray" size="compact-sm" onClick={() => open(project.id)}>
      Rules
    </Button>
  );
}
