import { type PendingRequest, type StageView, waitingSince } from '@callboard/contract';
import { Anchor, Box, Button, Checkbox, Flex, Group, Text } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { memo, type ReactElement, type ReactNode, useEffect, useId, useRef } from 'react';
import { Link } from 'react-router';
import { usePersonText } from '../../data/queries.ts';
import { clockTime, count, requestKey } from '../../lib/format.ts';
import { stoppedText } from '../../lib/stage-status.ts';
import { useCanAnswer } from '../../stream/stream-context.tsx';
import { KindIcon, ProjectMark, StageIdText } from '../../ui/marks.tsx';
import { Empty, Hint, Panel } from '../../ui/primitives.tsx';
import { useShortcuts } from '../../ui/shortcuts.tsx';
import { TextWithPath, TimeSince } from '../../ui/text.tsx';
import { RisksLine, Why } from '../approvals/approval-body.tsx';
import { askFor, UNREADY_MS } from '../approvals/arming.ts';
import { AskedHost, AskedInput } from '../approvals/asked-input.tsx';
import { DecisionSlot, type Press, useLaterKey, useVerdictKeys } from '../approvals/decision-slot.tsx';
import { askPath, askSummary, requestText } from '../approvals/kinds/request-summary.ts';
import { useMe, useSetLater } from '../approvals/presentation.tsx';
import requestStyles from '../approvals/request.module.css';
import { answeringText, type ItemOutcome, type useDecideAll } from '../approvals/use-decide.tsx';
import { useFolder, useProjectName, useStageTitle } from '../approvals/use-request.ts';
import { RequestMeta, StillSending, VerdictButton } from '../approvals/verdict-actions.tsx';
import css from './inbox.module.css';
import {
  type InboxGroup,
  type InboxItem,
  type InboxPosition,
  type InboxPositions,
  mayBeDecidedAsBatch,
  useInboxPicks,
} from './inbox-items.ts';

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
      <li key={key} className={css.rowPlace}>
        <RequestRow {...row} request={request} />
        <PickBox request={request} title={row.place?.title ?? request.stageId} />
      </li>
    );
  };
  return (
    <div className={css.list} data-picking={isPicking}>
      <div role="status">
        {decideAll.data !== undefined && decideAll.data.length > 0 && (
          <Report outcomes={decideAll.data} dismiss={decideAll.reset} />
        )}
      </div>
      {others}
      {isEmpty && (
        <Empty>
          {isFiltered
            ? 'Nothing that matches the filter is waiting for you.'
            : 'Nothing is waiting for you. Requests and stopped stages appear here, the longest waiting first.'}
        </Empty>
      )}
      <ul>
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
      <Section title="Snoozed">
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
      <Text component="h2" size="row" fw={500} c="dimmed" p="12px 12px 4px" id={titleId}>
        {title}
      </Text>
      <ul>
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
    <Group justify="space-between" gap="4px 8px" p="4px 8px 4px 12px">
      <Hint span>
        {rule === null ? (
          `${n} identical requests`
        ) : (
          <>
            {n} under the rule <code>{rule}</code>
          </>
        )}
      </Hint>
      <Button variant="subtle" size="compact-sm" aria-keyshortcuts="Shift+X" onClick={() => inspect(group)}>
        Look at all {n}
      </Button>
    </Group>
  );
}

/** The outcome of each request. */
function Report({ outcomes, dismiss }: { outcomes: readonly ItemOutcome[]; dismiss: () => void }) {
  const failed = outcomes.filter((outcome) => outcome.failed).length;
  const done = outcomes.length - failed;
  return (
    <Panel bg="var(--sunken)" gap="xs" align="flex-start" maw={360} mb="sm" fz="row">
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
    </Panel>
  );
}

function ReportLine({ outcome: { request, text } }: { outcome: ItemOutcome }) {
  return (
    <li>
      {useStageTitle(request.stageId)}: {text}
    </li>
  );
}

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
const RequestRow = memo(function RequestRow({ request, isLater = false, until, ...row }: RequestRowProps) {
  const { kind, toolName, held } = request;
  const folder = row.place?.folder ?? null;
  const summary = askSummary(request, folder);
  const personText = usePersonText();
  return (
    <Row {...row} id={requestKey(request)} stageId={request.stageId} at={request.createdAt}>
      <div className={css.rowAsk} title={summary}>
        <KindIcon kind={kind} toolName={toolName} size={14} />
        <span className="truncate">
          <TextWithPath text={summary} path={askPath(request, folder)} isLine />
        </span>
      </div>
      {held !== undefined && <div className="faint">{answeringText(personText(held.by))}</div>}
      {request.agent !== null && <div className="faint">by agent “{request.agent}”</div>}
      {isLater && until != null && <div className="faint">calls again at {clockTime(until)}</div>}
    </Row>
  );
});

/** Picks a request, to decide it with others. */
const PickBox = memo(function PickBox({ request, title }: { request: PendingRequest; title: string }) {
  const key = requestKey(request);
  const isPicked = useInboxPicks(({ picked }) => picked.has(key));
  const toggle = useInboxPicks((state) => state.toggle);
  if (!mayBeDecidedAsBatch(request)) return null;
  return (
    <Checkbox
      className={css.pick}
      size="xs"
      aria-label={`Select ${title}`}
      checked={isPicked}
      data-picked={isPicked}
      onChange={() => toggle([key])}
    />
  );
});

/** A stage that has stopped. */
const StageRow = memo(function StageRow({ stage, ...row }: RowProps & { stage: StageView }) {
  const { text, tone } = stoppedText(stage);
  return (
    <Row {...row} id={String(stage.id)} stageId={stage.id} at={waitingSince(stage)}>
      <div className={css.rowAsk} data-tone={tone === 'fail' ? tone : undefined} title={text}>
        <span className="truncate">{text}</span>
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
      <Flex align="center" gap={6}>
        {place?.project !== undefined && <ProjectMark name={place.project} />}
        <strong className="truncate" title={title}>
          {title}
        </strong>
        <StageIdText id={stageId} />
        <Text span ml="auto" size="row" className="figures" data-tone="needs">
          <TimeSince at={at} />
        </Text>
      </Flex>
      {children}
    </Link>
  );
}

interface InboxKeys {
  /** In the order of the list. */
  keys: readonly string[];
  selected: string | null;
  select: (key: string) => void;
  open: () => void;
  /** Picks a row, or all that are equal to it. Returns false for one that cannot be picked. */
  pick: (key: string, isGroup: boolean) => boolean;
  /** Takes all picks back; null if nothing is picked. */
  endPicking: (() => void) | null;
}

/** The attribute with a row's key. */
const ROW = 'data-row';

/**
 * J and K, or the arrow keys, move through the list; X picks, Shift+X all equal ones, Escape takes that back; Enter opens the
 * stage. A and D belong to the form.
 */
export function useInboxKeys({ keys, selected, select, open, pick, endPicking }: InboxKeys): void {
  const here = () => document.activeElement?.getAttribute(ROW) ?? selected;
  const move = (by: 1 | -1) => (event: KeyboardEvent) => {
    if (isBusy(event, event.key.startsWith('Arrow'))) return false;
    // The focus moves at once and the page follows, so that fast key presses are not lost.
    const row = here();
    const place = row === null ? -1 : keys.indexOf(row);
    const next = keys[Math.min(keys.length - 1, Math.max(0, place + by))];
    if (next === undefined) return false;
    select(next);
    document.querySelector<HTMLElement>(`[${ROW}="${CSS.escape(next)}"]`)?.focus();
    return true;
  };
  const enter = (event: KeyboardEvent) => {
    if (isBusy(event, true)) return false;
    open();
    return true;
  };
  const x = (event: KeyboardEvent) => {
    const row = here();
    return !isBusy(event, false) && row !== null && pick(row, event.shiftKey);
  };
  const end = (event: KeyboardEvent) => {
    if (isBusy(event, false) || endPicking === null) return false;
    endPicking();
    return true;
  };
  useShortcuts({ x, escape: end, j: move(1), arrowdown: move(1), k: move(-1), arrowup: move(-1), enter });
}

/** Whether a dialog or a menu is open, or (if `own`) the target uses the key itself. */
function isBusy({ target }: KeyboardEvent, own: boolean): boolean {
  if (document.querySelector('[role="dialog"], [role="menu"]') !== null) return true;
  if (!own || !(target instanceof Element)) return false;
  const isRow = target.closest(`[${ROW}]`) !== null;
  return !isRow && target.closest('a, button, input, select, summary, form, [tabindex="0"]') !== null;
}

interface BatchProps {
  /** The picked requests, in the order of the list. */
  requests: readonly PendingRequest[];
  decideAll: ReturnType<typeof useDecideAll>;
}

/** Returns what `DecisionSlot` and `askFor` call these requests: other requests make another form. */
export const batchKey = (keys: readonly string[]): string => `together ${keys.join(' ')}`;

/** Several requests, each in whole, and the buttons that decide all of them once each was looked at. */
export function InboxBatch({ requests, decideAll }: BatchProps) {
  const about = batchKey(requests.map(requestKey));
  const stages = new Set(requests.map(({ stageId }) => stageId)).size;
  return (
    <DecisionSlot key={about} about={about} className={css.batch} armsAlone={false}>
      <Text component="h2" fw={600} p="16px 16px 8px">
        {count(requests.length, 'request', 'requests')} in {count(stages, 'stage', 'stages')}
      </Text>
      <ol className={css.batchList} aria-label="Selected requests">
        {requests.map((one) => (
          <BatchItem key={requestKey(one)} request={one} />
        ))}
      </ol>
      <BatchActions requests={requests} decideAll={decideAll} />
    </DecisionSlot>
  );
}

function BatchItem({ request }: { request: PendingRequest }) {
  const { stageId, kind, agent, parentAgent, createdAt, stakes } = request;
  const key = requestKey(request);
  const folder = useFolder(stageId);
  const title = useStageTitle(stageId);
  const project = useProjectName(stageId);
  const isChecked = useInboxPicks(({ looked }) => looked.has(key));
  return (
    <li data-item={key}>
      <Group gap={6} wrap="nowrap">
        {project !== undefined && <ProjectMark name={project} />}
        <Anchor component={Link} c="inherit" fw={500} truncate to={`/stages/${stageId}`} title={title}>
          {title}
        </Anchor>
        <StageIdText id={stageId} />
        {isChecked && (
          <Group gap="xs" ml="auto" c="dimmed" fz="xs" wrap="nowrap">
            <IconCheck size={14} aria-hidden /> looked at
          </Group>
        )}
      </Group>
      <Hint>
        {requestText(request, folder)} Asked <TimeSince at={createdAt} ago />
        {agent !== null && ` by agent “${agent}”`}
        {parentAgent !== null && `, started by agent “${parentAgent}”`}
      </Hint>
      <RequestMeta request={request} />
      {kind === 'network' ? <AskedHost request={request} /> : <AskedInput request={request} folder={folder} isWhole />}
      <RisksLine stakes={stakes} />
      <Why request={request} folder={folder} />
      <Viewed about={key} />
    </li>
  );
}

function BatchActions({ requests, decideAll }: BatchProps) {
  const checked = useInboxPicks((state) => state.looked);
  const setLater = useSetLater();
  const n = requests.length;
  const open = requests.filter((one) => !checked.has(requestKey(one)));
  const off =
    !useCanAnswer() || decideAll.isPending || open.length > 0 || requests.some(({ held }) => held !== undefined);
  const decide = (decision: 'allow' | 'deny') => (press?: Press) =>
    decideAll.mutate({ requests, decision, hold: press?.isTap === true });
  const later = () => setLater.mutate({ requests, later: { until: null } });
  useVerdictKeys({ act: decide('allow'), isOff: off }, { act: decide('deny'), isOff: off });
  useLaterKey(later);
  const next = () => {
    const [first] = open;
    if (first === undefined) return false;
    document.querySelector(`[data-item="${CSS.escape(requestKey(first))}"]`)?.scrollIntoView({ block: 'start' });
    return true;
  };
  useShortcuts({ l: next });
  const sending = decideAll.isPending ? decideAll.variables.decision : null;
  return (
    <div className={requestStyles.actions}>
      <StillSending isPending={decideAll.isPending} />
      <Group gap="4px 8px" flex="1 1 auto">
        <Hint span role="status">
          {open.length === 0 ? `All ${n} looked at` : `${n - open.length} of ${n} looked at`}
        </Hint>
        {open.length > 0 && (
          <Button variant="subtle" size="compact-sm" aria-keyshortcuts="l" onClick={next}>
            Next to look at
          </Button>
        )}
        <Button variant="subtle" color="gray" size="compact-sm" aria-keyshortcuts="s" onClick={later}>
          Snooze
        </Button>
      </Group>
      <div className={requestStyles.buttons}>
        <VerdictButton
          label={`Deny all ${n}`}
          hint={'D'}
          variant={'default'}
          disabled={off}
          act={decide('deny')}
          loading={sending === 'deny'}
        />
        <VerdictButton
          label={`Allow all ${n}`}
          hint={'A'}
          variant={'filled'}
          disabled={off}
          act={decide('allow')}
          loading={sending === 'allow'}
        />
      </div>
    </div>
  );
}

/** The end of a request: once it was in sight for as long as a button must be, the request counts as looked at. */
export function Viewed({ about }: { about: string }) {
  const end = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const element = end.current;
    if (element === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const check = () => {
      if (document.visibilityState === 'visible') useInboxPicks.getState().check(about);
    };
    const observer = new IntersectionObserver(([entry]) => {
      clearTimeout(timer);
      if (entry?.isIntersecting === true) timer = setTimeout(check, UNREADY_MS);
    });
    observer.observe(element);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [about]);
  return <Box component="span" ref={end} display="block" h={1} data-end-of={about} aria-hidden />;
}
