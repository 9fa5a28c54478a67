import {
  type BoardView,
  checkAtGate,
  type PendingRequest,
  type StageId,
  type StageView,
  stoppedStages,
  visibleText,
  waitingSince,
} from '@callboard/contract';
import { Anchor, Button, Flex, Group, NativeSelect, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useMemo, useState } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { boardQuery } from '../../data/queries.ts';
import {
  type DeniedCall,
  denialRetryQuery,
  useAcknowledgeAlarm,
  useAcknowledgeDenial,
  useAdvanceStage,
  useContinueStage,
  useRetryDenial,
  useRunCheck,
} from '../../data/stage-commands.ts';
import { retryDoes } from '../../lib/denial-text.ts';
import { requestKey } from '../../lib/format.ts';
import { canAcknowledgeDenial, phaseNext, reasonText, stateLabel, stoppedText } from '../../lib/stage-status.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Hint } from '../../ui/primitives.tsx';
import { KeyHint, useShortcuts } from '../../ui/shortcuts.tsx';
import { useStable } from '../../ui/stable-button.tsx';
import { TimeSince } from '../../ui/text.tsx';
import { askFor } from '../approvals/arming.ts';
import { DecisionButton, DecisionSlot, ROOM, useDecisionGuard, useKeysWork } from '../approvals/decision-slot.tsx';
import { inOrder, useAside } from '../approvals/presentation.tsx';
import { DelayedAnswers, RequestSection } from '../approvals/request-section.tsx';
import { useDecideAll, useNotDelayedByMe } from '../approvals/use-decide.tsx';
import { useProjectName } from '../approvals/use-request.ts';
import css from './inbox.module.css';
import {
  type Filtered,
  followerOf,
  type InboxFilter,
  type InboxGroup,
  type InboxItem,
  inboxAddress,
  inboxChoices,
  inboxGroups,
  inboxItems,
  inboxPositions,
  isInboxFiltered,
  matchesInbox,
  mayBeDecidedAsBatch,
  ofRequest,
  ofStopped,
  readInboxFilter,
  useInboxPicks,
  wantedKey,
} from './inbox-items.ts';
import { batchKey, InboxBatch, InboxList, useInboxKeys, Viewed } from './inbox-list.tsx';

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
      <div style={{ gridColumn: '1 / -1' }}>
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
    <Group justify="space-between" mih={40} p="8px 8px 0 20px">
      <h1 id="inbox-title">Inbox</h1>
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
    </Group>
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
    <Group wrap="nowrap" p="8px 8px 8px 20px" fz="row" style={{ borderTop: '1px solid var(--line)' }}>
      <Text span inherit flex={1} role="status">
        {count === 1 ? '1 picked: pick another to decide both' : `${count} picked`}
      </Text>
      {count > 1 && (
        <Button hiddenFrom="sm" size="compact-sm" onClick={show}>
          Look at them
        </Button>
      )}
      <Button variant="subtle" color="gray" size="compact-sm" aria-keyshortcuts="Escape" onClick={clear}>
        Clear
      </Button>
    </Group>
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
      <nav className={css.links} aria-label="Selected requests">
        <Anchor component="button" type="button" hiddenFrom="sm" onClick={back}>
          Back to the list
        </Anchor>
        <Keys>X to select · L to look at the next · A D to decide all · Esc to clear</Keys>
      </nav>
      <div className={css.room}>
        <InboxBatch requests={requests} decideAll={decideAll} />
      </div>
    </>
  );
}

const Keys = ({ children }: { children: ReactNode }) => (
  <Hint span visibleFrom="sm" ml="auto" aria-hidden>
    {children}
  </Hint>
);

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
        <Anchor component={Link} hiddenFrom="sm" to={list}>
          All {count}
        </Anchor>
        <Link to={`/stages/${item.stageId}`}>Open the stage</Link>
        <Keys>
          J K to move · {isRequest ? 'A D to decide · S to snooze · X to select' : 'A to continue'} · Enter to open the
          stage
        </Keys>
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

const LABELS = { project: 'All projects', kind: 'All kinds', risk: 'All risks' } as const;
const PARTS = ['project', 'kind', 'risk'] as const;
const NAMES = { project: 'Project', kind: 'Kind', risk: 'Risk' } as const;
const projectsOf = ({ projects }: BoardView) => projects.map(({ id, name }) => ({ id: String(id), name }));

interface InboxFiltersProps {
  filter: InboxFilter;
  /** All rows, shown or not. */
  rows: readonly Filtered[];
  shown: number;
}

/** Which rows are shown, by project, kind and risk; and how many are not. Draws nothing where there is nothing to choose. */
function InboxFilters({ filter, rows, shown }: InboxFiltersProps) {
  const navigate = useNavigate();
  const { data: projects = [] } = useQuery({ ...boardQuery, select: projectsOf });
  const choose = (change: Partial<InboxFilter>) =>
    void navigate(inboxAddress({ ...filter, ...change }), { replace: true });
  const isFiltered = isInboxFiltered(filter);
  if (rows.length < 2 && !isFiltered) return null;
  return (
    <Flex component="search" wrap="wrap" gap="xs" p="4px 8px 8px 20px" aria-label="Filter the inbox">
      {PARTS.map((part) => {
        const choices = inboxChoices(part, { rows, filter, projects });
        if (choices.length < 2 && filter[part] === '') return null;
        const data = choices.map(({ value, label, count }) => ({ value, label: `${label} (${count})` }));
        return (
          <NativeSelect
            key={part}
            size="xs"
            flex="1 1 96px"
            miw={0}
            aria-label={NAMES[part]}
            data={[{ value: '', label: LABELS[part] }, ...data]}
            value={filter[part]}
            onChange={(event) => choose({ [part]: event.currentTarget.value })}
          />
        );
      })}
      {isFiltered && (
        <Group justify="space-between" flex="1 0 100%">
          <Hint span role="status">
            {shown} of {rows.length} shown
          </Hint>
          <Button variant="subtle" size="compact-sm" onClick={() => choose({ project: '', kind: '', risk: '' })}>
            Show all
          </Button>
        </Group>
      )}
    </Flex>
  );
}

/** A stage that needs a person but has no request: why it stopped, and the action that continues it. */
function InboxStage({ stage }: { stage: StageView }) {
  const titleId = useId();
  const { text, tone } = stateLabel(stage, 0, 0);
  const alarm = stage.session?.alarm?.detail;
  const why = alarm ?? (tone === 'fail' ? reasonText(stage) : stoppedText(stage).text);
  const project = useProjectName(stage.id);
  return (
    <DecisionSlot about={String(stage.id)}>
      <Flex component="article" direction="column" gap="sm" p="lg" aria-labelledby={titleId}>
        <h2 id={titleId}>{stage.title}</h2>
        <Hint>
          <strong data-tone={tone}>{text}</strong> · {project} · waits <TimeSince at={waitingSince(stage)} />
        </Hint>
        {why !== null && why.toLowerCase() !== text.toLowerCase() && <p className="pre-wrap">{why}</p>}
        <ContinueAction stage={stage} />
        {canAcknowledgeDenial(stage) && <RetryAction stage={stage} />}
      </Flex>
    </DecisionSlot>
  );
}

/** The button that continues the stage, with its key. Without one, the stage's page says what to do. */
function ContinueAction({ stage }: { stage: StageView }) {
  const step = useNextStep(stage);
  const doesId = useId();
  const { mayKeyDecide } = useDecisionGuard();
  const keysWork = useKeysWork();
  const off = !useCanCommand() || step === null || step.isSending;
  const act = () => step?.run();
  useShortcuts({
    a: (event) => {
      if (off || !mayKeyDecide(event)) return false;
      act();
      return true;
    },
  });
  if (step === null) return <Hint>Its page shows what happened, and takes a message to Claude</Hint>;
  return (
    <Group justify="flex-end" gap="8px 16px">
      <Hint span id={doesId}>
        {step.does}
      </Hint>
      <DecisionButton
        disabled={off}
        loading={step.isSending}
        aria-describedby={doesId}
        aria-keyshortcuts={keysWork ? 'a' : undefined}
        rightSection={<KeyHint isOff={!keysWork}>A</KeyHint>}
        act={act}
      >
        {step.label}
      </DecisionButton>
    </Group>
  );
}

/** Allows what Claude Code denied, with its key, or says why that cannot be. */
function RetryAction({ stage }: { stage: StageView }) {
  const requestId = stage.session?.openDenial?.requestId ?? null;
  return requestId === null ? null : <Retry denied={{ stageId: stage.id, requestId }} title={stage.title} />;
}

function Retry({ denied, title }: { denied: DeniedCall; title: string }) {
  const { data } = useQuery(denialRetryQuery(denied));
  if (data === undefined) return null;
  const { rules, whyNot } = data.retry;
  if (whyNot !== null) return <Hint>{visibleText(whyNot, 'prose')}</Hint>;
  return <RetryStep denied={denied} title={title} rules={rules} />;
}

/** It may come after the other button, so it has to stand for a moment itself. */
function RetryStep({ denied, title, rules }: { denied: DeniedCall; title: string; rules: readonly string[] }) {
  const retry = useRetryDenial(title);
  const doesId = useId();
  const { mayKeyDecide } = useDecisionGuard();
  const isStable = useStable();
  const keysWork = useKeysWork() && isStable;
  const off = !useCanCommand() || !isStable || retry.isPending || retry.isSuccess;
  const act = () => retry.mutate(denied);
  useShortcuts({
    t: (event) => {
      if (off || !mayKeyDecide(event)) return false;
      act();
      return true;
    },
  });
  return (
    <Group justify="flex-end" gap="8px 16px">
      <Hint span id={doesId}>
        {retryDoes(rules)}
      </Hint>
      <DecisionButton
        variant="default"
        disabled={off}
        loading={retry.isPending}
        aria-describedby={doesId}
        aria-keyshortcuts={keysWork ? 't' : undefined}
        rightSection={<KeyHint isOff={!keysWork}>T</KeyHint>}
        act={act}
      >
        Allow and try again
      </DecisionButton>
    </Group>
  );
}

interface NextStep {
  label: string;
  does: string;
  run: () => void;
  isSending: boolean;
}

function useNextStep(stage: StageView): NextStep | null {
  const advance = useAdvanceStage(stage.title);
  const continuing = useContinueStage(stage);
  const acknowledge = useAcknowledgeAlarm(stage.title);
  const seen = useAcknowledgeDenial(stage.title);
  const check = useRunCheck(stage.title);
  if (stage.session?.alarm != null)
    return {
      label: 'Acknowledge',
      does: 'Lets the session continue. Its page shows what happened.',
      run: () => acknowledge.mutate(stage.id),
      isSending: acknowledge.isPending,
    };
  if (checkAtGate(stage) !== null)
    return {
      label: 'Run again',
      does: 'Its page shows the output, sends it to Claude once more, or accepts the work anyway.',
      run: () => check.mutate(stage.id),
      isSending: check.isPending,
    };
  if (stage.session?.atGate === true)
    return {
      label: `Start ${phaseNext(stage)}`,
      does: 'Its page shows what the finished phase did.',
      run: () => advance.mutate(stage.id),
      isSending: advance.isPending,
    };
  if (canAcknowledgeDenial(stage))
    return {
      label: 'Seen',
      does: 'Moves the stage to Review. A message to Claude does the same.',
      run: () => seen.mutate(stage.id),
      isSending: seen.isPending,
    };
  if (continuing === null) return null;
  const { label, does, run, isSending } = continuing;
  return { label, does: `${label} ${does}`, run, isSending };
}
