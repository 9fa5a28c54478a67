import { type PendingRequest, visibleText } from '@callboard/contract';
import { Box, Button, Flex, Group, Menu } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import clsx from 'clsx';
import type { FormEvent, ReactNode } from 'react';
import { Link } from 'react-router';
import { clockTime, exactTime, requestKey, shortDuration } from '../../lib/format.ts';
import { useNow } from '../../lib/hooks.ts';
import { KindIcon, ProjectMark, StageIdText } from '../../ui/marks.tsx';
import { Hint } from '../../ui/primitives.tsx';
import { KeyHint } from '../../ui/shortcuts.tsx';
import { TimeSince } from '../../ui/text.tsx';
import { DecisionSlot, useKeysWork, useLaterKey } from './decision-slot.tsx';
import heldAnswersStyles from './delayed-answers.module.css';
import { formParts } from './form-parts.ts';
import { requestKinds } from './kinds/registry.ts';
import { askSummary, askTitle, requestText } from './kinds/request-summary.ts';
import { useLaterOf, useMe, useOverlayState, useSetLater } from './presentation.tsx';
import css from './request.module.css';
import requestHeadStyles from './request-head.module.css';
import { SwipeToAnswer } from './swipe.tsx';
import {
  delayedLabel,
  delayedText,
  isDelayedBy,
  useAnswer,
  useApprove,
  useDelayedByMe,
  useDelayedEnding,
  useEndingNotice,
  useWithdraw,
} from './use-decide.tsx';
import { useFolder, usePhaseName, useProjectName, useStageTitle } from './use-request.ts';

interface RequestSectionProps {
  request: PendingRequest;
  /** Whether it stands beside a list of requests of all stages, and not on its stage's own page. */
  isDetail?: boolean;
}

/** A request within the page: in a stage's transcript, or beside the inbox's list. */
export function RequestSection({ request, isDetail = false }: RequestSectionProps) {
  const title = askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId));
  const key = requestKey(request);
  const { name } = useMe();
  if (isDelayedBy(request, name)) return <DelayedAnswerLine request={request} />;
  return (
    <DecisionSlot
      key={key}
      about={key}
      isRoom={!isDetail}
      className={isDetail ? clsx(css.place, css.detail) : css.section}
    >
      <RequestHead request={request} hasCrumbs={isDetail} linksStage={false} />
      <RequestForm request={request} label={title} isCard={isDetail} />
    </DecisionSlot>
  );
}

interface DelayedAnswersProps {
  /** Where no form is in front of the page: it floats above the page's lower edge. */
  floats?: boolean;
  /** The stage whose page shows its own. */
  except?: string | null;
}

/** What this person just answered by a tap, with Undo, until the server sends it. */
export function DelayedAnswers({ floats = false, except = null }: DelayedAnswersProps) {
  const held = useDelayedByMe().filter(({ stageId }) => stageId !== except);
  return (
    <>
      <DelayedBar held={held} floats={floats} />
      {held.length === 0 && <SnoozedBar floats={floats} />}
    </>
  );
}

/** The same for one request, in the place of its form. */
const DelayedAnswerLine = ({ request }: { request: PendingRequest }) => <DelayedBar held={[request]} />;

function DelayedBar({ held, floats = false }: { held: readonly PendingRequest[]; floats?: boolean }) {
  const withdraw = useWithdraw();
  const [first] = held;
  return (
    <div className={heldAnswersStyles.place} data-floats={floats} role="status">
      {held.map((request) => (
        <Ending key={requestKey(request)} request={request} />
      ))}
      {first?.held !== undefined && (
        <UndoBar isPending={withdraw.isPending} undo={() => withdraw.mutate(held)}>
          {held.length === 1 ? (
            <Done label={delayedLabel(first.held)} request={first} />
          ) : (
            delayedText(held.flatMap((one) => one.held ?? []))
          )}
        </UndoBar>
      )}
    </div>
  );
}

/** What this person just snoozed by a swipe. It is snoozed already; Undo calls it back. */
function SnoozedBar({ floats }: { floats: boolean }) {
  const { swiped, endOffer } = useOverlayState();
  const setLater = useSetLater();
  const undo = (request: PendingRequest) => {
    setLater.mutate({ requests: [request], later: null });
    endOffer();
  };
  return (
    <div className={heldAnswersStyles.place} data-floats={floats} role="status">
      {swiped !== null && (
        <UndoBar undo={() => undo(swiped)}>
          <Done label="Snoozed" request={swiped} />
        </UndoBar>
      )}
    </div>
  );
}

function UndoBar({
  isPending = false,
  undo,
  children,
}: {
  isPending?: boolean;
  undo: () => void;
  children: ReactNode;
}) {
  return (
    <div className={heldAnswersStyles.bar}>
      <span className="truncate">{children}</span>
      <Button flex="none" variant="subtle" loading={isPending} onClick={undo}>
        Undo
      </Button>
    </div>
  );
}

function Done({ label, request }: { label: string; request: PendingRequest }) {
  const folder = useFolder(request.stageId);
  return (
    <>
      <strong>{label}</strong> {askSummary(request, folder)}
    </>
  );
}

function Ending({ request }: { request: PendingRequest }) {
  useDelayedEnding(request, askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId)));
  return null;
}

/** Above a form that cannot be used for a moment: who is answering. */
function BeingAnswered({ request: { held } }: { request: PendingRequest }) {
  const { name } = useMe();
  return (
    <Hint className={heldAnswersStyles.other} role="status">
      {held !== undefined &&
        `${held.by === name ? 'You are' : `${held.by} is`} answering: ${delayedLabel(held)}, sent in 2 s unless taken back.`}
    </Hint>
  );
}

interface RequestFormProps {
  request: PendingRequest;
  /** The form's name; omit it in a dialog that has the name. */
  label?: string;
  /** Whether what surrounds it is a card that a phone can swipe. */
  isCard?: boolean;
}

const stay = (event: FormEvent) => event.preventDefault();

/** The form of a request, the same wherever it is shown. */
export function RequestForm({ request, label, isCard = true }: RequestFormProps) {
  useEndingNotice(request, askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId)));
  const approve = useApprove(request);
  const answer = useAnswer(request);
  const { Body } = requestKinds[request.kind];
  return (
    <Flex component="form" direction="column" flex={1} mih={0} aria-label={label} onSubmit={stay}>
      <BeingAnswered request={request} />
      <Body request={request} approve={approve} answer={answer} parts={formParts} />
      {isCard && <SwipeToAnswer request={request} approve={approve} />}
    </Flex>
  );
}

interface RequestHeadProps {
  request: PendingRequest;
  /** False where the page itself says which stage this is. */
  hasCrumbs?: boolean;
  /** False where a link to the stage is beside it. */
  linksStage?: boolean;
  /** Where it stands among those that wait. */
  position?: ReactNode;
  /** All that wait here. */
  all?: readonly PendingRequest[];
}

/** The head of a request's form: which stage asks, for what, since when, and Snooze. */
export function RequestHead({ request, hasCrumbs = true, linksStage = true, position, all }: RequestHeadProps) {
  const { stageId, kind, toolName } = request;
  const text = requestText(request, useFolder(stageId));
  const aside = (
    <div className={requestHeadStyles.aside}>
      {position !== undefined && position !== '' && (
        <Hint span className={requestHeadStyles.position}>
          {position}
        </Hint>
      )}
      <LaterButton request={request} {...(all && { all })} />
    </div>
  );
  return (
    <Flex component="header" direction="column" gap="xs" flex="none" p="8px 8px 12px 16px">
      {hasCrumbs && (
        <div className={requestHeadStyles.top} data-long={typeof position === 'string' && position.includes('inbox')}>
          <Crumbs request={request} linksStage={linksStage} />
          {aside}
        </div>
      )}
      <div className={requestHeadStyles.ask} data-has-aside={!hasCrumbs}>
        <Flex component="h2" gap="sm" miw={0} fz="lg" lh="24px">
          <Box component="span" pt={3} data-tone="needs">
            <KindIcon kind={kind} toolName={toolName} size={18} />
          </Box>
          {text}
        </Flex>
        <Asked request={request} />
        {!hasCrumbs && aside}
      </div>
    </Flex>
  );
}

function Crumbs({ request: { stageId }, linksStage }: { request: PendingRequest; linksStage: boolean }) {
  const project = useProjectName(stageId);
  const title = useStageTitle(stageId);
  const phase = usePhaseName(stageId);
  return (
    <div className={requestHeadStyles.crumbs}>
      {project !== undefined && (
        <Flex component="span" className="truncate" gap={6} align="center" flex="none" maw="40%">
          <ProjectMark name={project} />
          {project}
        </Flex>
      )}
      {linksStage ? (
        <Link className={clsx(requestHeadStyles.stage, 'truncate')} to={`/stages/${stageId}`} title={title}>
          {title}
        </Link>
      ) : (
        <span className={clsx(requestHeadStyles.stage, 'truncate')} title={title}>
          {title}
        </span>
      )}
      <span className={requestHeadStyles.id}>
        <StageIdText id={stageId} />
      </span>
      {phase !== undefined && (
        <Box component="span" className="truncate" visibleFrom="sm">
          {phase}
        </Box>
      )}
    </div>
  );
}

/** When it was asked, by which agent, and when it expires. */
function Asked({ request: { createdAt, agent, parentAgent, expiresAt } }: { request: PendingRequest }) {
  return (
    <Hint className={requestHeadStyles.asked}>
      asked <TimeSince at={createdAt} ago />
      {agent !== null && ` by agent “${visibleText(agent, 'prose')}”`}
      {parentAgent !== null && `, started by agent “${visibleText(parentAgent, 'prose')}”`}
      {expiresAt !== null && <Expiry at={expiresAt} />}
    </Hint>
  );
}

/** When the request expires, if its project has a time limit. */
function Expiry({ at }: { at: string }) {
  return <span title={exactTime(at)}>, denied automatically in {shortDuration(Date.parse(at) - useNow())}</span>;
}

interface LaterButtonProps {
  request: PendingRequest;
  /** The requests that wait with it, to set all of them aside; itself included. */
  all?: readonly PendingRequest[];
}

/** Above the overlay, which may lie above another dialog. */
const Z_INDEX = 400;

/** Sets the request aside, for good or until a time; where it is set aside, calls it back. */
function LaterButton({ request, all = [request] }: LaterButtonProps) {
  const setLater = useSetLater();
  const later = useLaterOf(request);
  const isLater = later !== undefined;
  const put = (requests: readonly PendingRequest[], until: Date | null) =>
    setLater.mutate({ requests, later: { until } });
  const toggle = () => (isLater ? setLater.mutate({ requests: [request], later: null }) : put([request], null));
  const keysWork = useKeysWork();
  useLaterKey(toggle);
  return (
    <Group gap={0} wrap="nowrap">
      {isLater && <LaterText until={later.until} />}
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        onClick={toggle}
        aria-keyshortcuts={keysWork ? 's' : undefined}
        rightSection={<KeyHint isOff={!keysWork}>S</KeyHint>}
      >
        {isLater ? 'Show again' : 'Snooze'}
      </Button>
      <Menu zIndex={Z_INDEX}>
        <Menu.Target>
          <Button variant="subtle" color="gray" size="compact-sm" px={4} aria-label="Until when">
            <IconChevronDown size={14} aria-hidden />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <LaterTimes choose={(until) => put([request], until)} />
          {all.length > 1 && (
            <>
              <Menu.Divider />
              <Menu.Item rightSection={<kbd>Esc</kbd>} onClick={() => put(all, null)}>
                Keep all {all.length} in the inbox
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}

/** The times, as of when the menu opens. */
function LaterTimes({ choose }: { choose: (until: Date | null) => void }) {
  const now = new Date(useNow());
  return laterTimes(now).map(({ label, until }) => (
    <Menu.Item key={label} onClick={() => choose(until)}>
      {label}
    </Menu.Item>
  ));
}

function LaterText({ until }: { until: string | null }) {
  return (
    <Hint span className={requestHeadStyles.position}>
      {until === null ? 'Snoozed' : `Snoozed until ${clockTime(until)}`}
    </Hint>
  );
}

/** A time until which a request can be set aside. */
interface LaterTime {
  label: string;
  /** Null: for good. */
  until: Date | null;
}

const MINUTE_MS = 60_000;
const MORNING_HOUR = 9;

/** Returns the times to choose from, with the one for good last. */
export function laterTimes(now: Date): LaterTime[] {
  const after = (minutes: number) => new Date(now.getTime() + minutes * MINUTE_MS);
  const morning = new Date(now);
  morning.setDate(morning.getDate() + 1);
  morning.setHours(MORNING_HOUR, 0, 0, 0);
  const nine = morning.toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' });
  return [
    { label: 'Remind me in 15 minutes', until: after(15) },
    { label: 'Remind me in 1 hour', until: after(60) },
    { label: `Remind me tomorrow, ${nine}`, until: morning },
    { label: 'Keep in the inbox, no reminder', until: null },
  ];
}
