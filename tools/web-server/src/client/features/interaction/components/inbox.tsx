import type { PendingRequest } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { requestKey } from '../../../lib/request-words.ts';
import { boardQuery } from '../../../live/queries.ts';
import { usePending } from '../api/use-request.ts';
import { followerOf, inboxGroups } from '../model/inbox-groups.ts';
import { useRulesDialog } from '../model/rules-dialog.ts';
import css from './inbox.module.css';
import { useInboxKeys } from './inbox-keys.ts';
import { InboxList } from './inbox-list.tsx';
import { RequestSection } from './request-section.tsx';

const PARAM = 'request';
const addressOf = (key: string) => `/inbox?${new URLSearchParams({ [PARAM]: key })}`;

interface InboxProps {
  /** What waits and is no request, above the list. */
  others: ReactNode;
  hasOthers: boolean;
}

/** All that waits: a list, the longest waiting first, and the chosen one beside it. The next one follows an answer. */
export function Inbox({ others, hasOthers }: InboxProps) {
  const pending = usePending();
  const groups = useMemo(() => inboxGroups(pending), [pending]);
  const requests = groups.flatMap((group) => group.requests);
  const [params] = useSearchParams();
  const wanted = params.get(PARAM);
  const selected = useSelected(requests, wanted);
  const navigate = useNavigate();
  useInboxKeys({
    keys: requests.map(requestKey),
    selected: selected === undefined ? null : requestKey(selected),
    select: (key) => void navigate(addressOf(key), { replace: true }),
    open: () => selected !== undefined && void navigate(`/stages/${selected.stageId}`),
  });
  return (
    <div
      className={css.inbox}
      data-detail={wanted !== null && selected !== undefined}
      data-empty={selected === undefined}
    >
      <section className={css.pane} aria-labelledby="inbox-title">
        <div className={css.paneHead}>
          <h1 className={css.head} id="inbox-title">
            Inbox
          </h1>
          <RulesButton />
        </div>
        <InboxList
          groups={groups}
          selected={selected}
          addressOf={addressOf}
          others={others}
          isEmpty={!hasOthers && groups.length === 0}
        />
      </section>
      <div className={css.detail}>
        {selected !== undefined && (
          <>
            <nav className={css.links} aria-label="Request">
              <Link className={css.back} to="/inbox">
                All {requests.length}
              </Link>
              <Link to={`/stages/${selected.stageId}`}>Open the stage</Link>
              <span className={css.keys} aria-hidden>
                J K to move · A D to decide · Enter to open the stage
              </span>
            </nav>
            <RequestSection key={requestKey(selected)} request={selected} takesKeys />
          </>
        )}
      </div>
    </div>
  );
}

/** The wanted one; when it is gone, the one that followed it in the list as it was. */
function useSelected(requests: readonly PendingRequest[], wanted: string | null): PendingRequest | undefined {
  const keys = requests.map(requestKey);
  const [seen, setSeen] = useState<{ keys: string[]; wanted: string | null; key: string | undefined }>({
    keys,
    wanted,
    key: undefined,
  });
  const last = wanted !== seen.wanted ? (wanted ?? undefined) : (seen.key ?? wanted ?? undefined);
  const isThere = last !== undefined && keys.includes(last);
  const key = isThere ? last : last === undefined ? keys[0] : followerOf(seen.keys, last, keys);
  if (key !== seen.key || wanted !== seen.wanted || keys.join() !== seen.keys.join()) setSeen({ keys, wanted, key });
  return requests.find((request) => requestKey(request) === key);
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
