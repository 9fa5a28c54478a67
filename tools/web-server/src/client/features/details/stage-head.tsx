import { type ContextUsage, checkAtGate, isChecking, type StageView } from '@callboard/contract';
import { ActionIcon, Anchor, Box, Button, Flex, Menu } from '@mantine/core';
import {
  IconArrowBackUp,
  IconBellRinging,
  IconCircleCheck,
  IconDots,
  IconEye,
  IconGitMerge,
  IconPlayerPauseFilled,
  IconPlayerPlayFilled,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { type ComponentType, useEffect, useEffectEvent, useId, useState } from 'react';
import { Link } from 'react-router';
import { usageOf, useBudgetAtStage } from '../../data/budget-data.ts';
import { completionQuery } from '../../data/complete-stage.tsx';
import { useStagePosition } from '../../data/machines.ts';
import { useIsPaused } from '../../data/pauses.tsx';
import { boardQuery } from '../../data/queries.ts';
import { useInterrupt } from '../../data/session-commands.ts';
import { StageMenuItems, useAskFinish } from '../../data/stage-actions.tsx';
import {
  continueAction,
  useAcknowledgeDenial,
  useAdvanceStage,
  useContinueStage,
  useReopenStage,
  useStartStage,
  useUndoCompletion,
} from '../../data/stage-commands.ts';
import { METHOD_NAMES, mergedText } from '../../lib/finish-text.ts';
import { cost, count, exactTime } from '../../lib/format.ts';
import { phaseAtGate, phaseText } from '../../lib/phases.ts';
import { beforeStart, canAcknowledgeDenial, isLoggedOutStage, reasonText, stateLabel } from '../../lib/stage-status.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { IsolationMark, MachineMark, ProjectMark, StageIdText } from '../../ui/marks.tsx';
import { Meter, NeedsButton } from '../../ui/primitives.tsx';
import { PullRequestLine } from '../../ui/pull-request-line.tsx';
import { isComposing, KeyHint, useRecentlyShown, useTopLayer } from '../../ui/shortcuts.tsx';
import css from '../../ui/stage-head.module.css';
import { TimeSince } from '../../ui/text.tsx';
import { RetryDenial, WhyNotRetried } from '../transcript/item-parts.tsx';

interface StageHeadProps {
  stage: StageView;
  /** How many of its requests wait for an answer. */
  pending: number;
  /** How many of its answers have an unknown delivery. */
  unsettled: number;
  /** Shows the first of its requests. */
  check: () => void;
  /** Decides about a check that did not pass. */
  CheckSlot: ComponentType<{ stage: StageView }>;
  /** Whether the bar below its changes is there, which finishes the stage. */
  hasFinishBar: boolean;
}

/** The stage's title, its state, and what can be done with it now. */
export function StageHead({ stage, pending, unsettled, check, CheckSlot, hasFinishBar }: StageHeadProps) {
  const isPaused = useIsPaused(stage);
  const { text, tone } = stateLabel(stage, pending, unsettled, isPaused);
  const { session } = stage;
  const place = useStagePosition(stage);
  const phase = phaseText(stage);
  const reason = reasonText(stage);
  const hasOwnPanel = beforeStart(stage) !== null || session?.limitWait != null || (session?.withheld && isPaused); // that says what can be done
  const continuing = hasOwnPanel ? null : continueAction(stage);
  const continueHint = useId();
  return (
    <header className={css.head}>
      <div className={css.name}>
        <ProjectOf projectId={stage.projectId} />
        <h1 className={css.title} title={stage.title}>
          {stage.title}
        </h1>
        <StageIdText id={stage.id} />
      </div>
      <div className={css.facts}>
        <span className={css.state} data-tone={tone}>
          {text}
        </span>
        {phase !== null && <span>{phase}</span>}
        {stage.pullRequest !== null && <PullRequestLine pullRequest={stage.pullRequest} isLink />}
        {session !== null && (
          <>
            {session.terminal === null && (
              <span title={`In this state since ${exactTime(session.stateSince)}`}>
                <TimeSince at={session.stateSince} />
              </span>
            )}
            <Anchor
              component={Link}
              c="inherit"
              underline="never"
              visibleFrom="sm"
              to={`/stages/${stage.id}?tab=details`}
            >
              <IsolationMark session={session} hasWord />
            </Anchor>
            {place !== null && <MachineMark {...place} className={css.machine} />}
            <span title="Cost so far">{cost(usageOf(session).costUsd)}</span>
            {session.contextUsage !== null && <ContextBar usage={session.contextUsage} />}
          </>
        )}
      </div>
      {pending > 0 && <Signal pending={pending} check={check} />}
      <StageActions stage={stage} continueHint={continueHint} CheckSlot={CheckSlot} hasFinishBar={hasFinishBar} />
      {reason !== null && (
        // The full text is in the transcript.
        <p className={clsx(css.reason, css.short)} data-tone={tone} title={reason}>
          {reason}
        </p>
      )}
      {canAcknowledgeDenial(stage) && <WhyNotRetried stage={stage} />}
      {continuing !== null && (
        <p className={css.reason} id={continueHint}>
          {continuing.label}: {continuing.does}
        </p>
      )}
    </header>
  );
}

/** The project's sign and name, before the title. */
function ProjectOf({ projectId }: { projectId: StageView['projectId'] }) {
  const { data: name = projectId } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find((project) => project.id === projectId)?.name,
  });
  return (
    <Flex component="span" flex="none" gap={6} align="center" c="dimmed" fz="row" style={{ alignSelf: 'center' }}>
      <ProjectMark name={name} />
      <span className="hidden-on-phone">{name}</span>
      <span className="hidden-on-phone" aria-hidden>
        /
      </span>
    </Flex>
  );
}

/** How many requests of this stage are open. A click shows the first. */
function Signal({ pending, check }: { pending: number; check: () => void }) {
  const text = count(pending, 'open request', 'open requests');
  return (
    <NeedsButton
      className={css.bell}
      px={10}
      leftSection={<IconBellRinging size={16} aria-hidden />}
      aria-label={`${text} of this stage`}
      title={text}
      onClick={check}
    >
      {pending}
    </NeedsButton>
  );
}

/** How full the model's context is, as a bar and in words. */
function ContextBar({ usage }: { usage: ContextUsage }) {
  const percent = Math.round(usage.percentage);
  const text = `${usage.usedTokens.toLocaleString()} of ${usage.maxTokens.toLocaleString()} tokens of context used`;
  return (
    <span className={css.machine} title={text}>
      <Box w={48} visibleFrom="sm">
        <Meter share={Math.max(2, percent) / 100} />
      </Box>
      <span className="visually-hidden">{text}</span>
      <span aria-hidden>ctx {percent}%</span>
    </span>
  );
}

interface StageActionsProps {
  stage: StageView;
  /** The id of the element that explains what continuing does. */
  continueHint: string;
  /** Decides about a check that did not pass. */
  CheckSlot: ComponentType<{ stage: StageView }>;
  hasFinishBar: boolean;
}

/** The stage's current actions, likeliest first. */
function StageActions(props: StageActionsProps) {
  const { stage } = props;
  return (
    <div className={css.actions}>
      <MainActions {...props} />
      <StageMenu stage={stage} />
    </div>
  );
}

function MainActions({ stage, ...props }: StageActionsProps) {
  const { session } = stage;
  const [isPressed, setPressed] = useState(false);
  if (stage.completedAt !== null) return <DoneActions stage={stage} hasFinishBar={props.hasFinishBar} />;
  if (session?.alarm != null || session?.terminal != null) return null; // their banners have actions
  switch (session?.state) {
    case undefined:
      return <StartButton stage={stage} />;
    case 'starting':
      return null;
    case 'busy':
    case 'waiting':
      return <InterruptButton stage={stage} pressed={() => setPressed(true)} />;
    case 'idle':
    case 'ended':
    case 'failed':
      if (isPressed) return <InterruptPressed over={() => setPressed(false)} />;
      return <RestActions stage={stage} {...props} />;
    default:
      return session?.state satisfies undefined;
  }
}

function RestActions({ stage, continueHint, CheckSlot, hasFinishBar }: StageActionsProps) {
  const next = phaseAtGate(stage);
  const wentWell = stage.session?.lastTurn?.outcome === 'succeeded';
  if (checkAtGate(stage) !== null) return <CheckSlot stage={stage} />;
  return (
    <>
      {mayContinue(stage) && <ContinueButton stage={stage} continueHint={continueHint} />}
      {canAcknowledgeDenial(stage) && <RetryDenial stage={stage} />}
      {canAcknowledgeDenial(stage) && <SeenButton stage={stage} />}
      {!hasFinishBar && (
        <CompleteActions stage={stage} isQuiet={next !== null || !wentWell || canAcknowledgeDenial(stage)} />
      )}
      {next !== null && <AdvanceButton stage={stage} next={next} />}
    </>
  );
}

/** Whether Continue is the next step. Where something else must happen first, a banner has it. */
const mayContinue = (stage: StageView): boolean =>
  !isLoggedOutStage(stage) &&
  stage.session?.limitWait == null &&
  stage.session?.spentBudget == null &&
  beforeStart(stage) === null;

/** Continues the stage where it stopped, with or without a running process. */
function ContinueButton({ stage, continueHint }: Pick<StageActionsProps, 'stage' | 'continueHint'>) {
  const continuing = useContinueStage(stage);
  const canCommand = useCanCommand();
  if (continuing === null) return null;
  return (
    <Button
      leftSection={<IconPlayerPlayFilled size={14} />}
      disabled={!canCommand}
      loading={continuing.isSending}
      aria-describedby={continueHint}
      onClick={continuing.run}
    >
      {continuing.label}
    </Button>
  );
}

/** Acknowledges a denial by Claude Code; the stage moves to Review. */
function SeenButton({ stage }: { stage: StageView }) {
  const acknowledge = useAcknowledgeDenial(stage.title);
  return (
    <Button
      variant="default"
      leftSection={<IconEye size={16} />}
      disabled={!useCanCommand()}
      loading={acknowledge.isPending}
      onClick={() => acknowledge.mutate(stage.id)}
    >
      Seen
    </Button>
  );
}

function StartButton({ stage }: { stage: StageView }) {
  const start = useStartStage(stage.title);
  const canCommand = useCanCommand();
  if (useBudgetAtStage(stage) !== null) return null; // its banner starts it
  return (
    <Button
      leftSection={<IconPlayerPlayFilled size={14} />}
      disabled={!canCommand}
      loading={start.isPending}
      onClick={() => start.mutate(stage.id)}
    >
      Start
    </Button>
  );
}

function AdvanceButton({ stage, next }: { stage: StageView; next: string }) {
  const advance = useAdvanceStage(stage.title);
  return (
    <Button disabled={!useCanCommand()} loading={advance.isPending} onClick={() => advance.mutate(stage.id)}>
      Start {next}
    </Button>
  );
}

/** Leads to what finishes the stage. `isQuiet` means that another action is likelier. */
function CompleteActions({ stage, isQuiet }: { stage: StageView; isQuiet: boolean }) {
  const ask = useAskFinish(stage);
  const canCommand = useCanCommand();
  return (
    <Button variant={isQuiet ? 'default' : 'filled'} disabled={!canCommand} onClick={ask}>
      Finish
    </Button>
  );
}

/** What became of a done stage's work, and the ways back. A message reopens it as well. */
function DoneActions({ stage, hasFinishBar }: Pick<StageActionsProps, 'stage' | 'hasFinishBar'>) {
  const reopen = useReopenStage(stage.title);
  const ask = useAskFinish(stage);
  const canCommand = useCanCommand();
  const isUnmerged = stage.merged === null && stage.worktree !== null && !hasFinishBar;
  return (
    <>
      <Outcome stage={stage} />
      {stage.merged !== null && stage.merged.pullRequest === null && <UndoMerge stage={stage} />}
      {isUnmerged && (
        <Button variant="default" leftSection={<IconGitMerge size={16} />} disabled={!canCommand} onClick={ask}>
          Merge
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<IconArrowBackUp size={16} />}
        disabled={!canCommand}
        loading={reopen.isPending}
        onClick={() => reopen.mutate(stage.id)}
      >
        Reopen
      </Button>
    </>
  );
}

function Outcome({ stage }: { stage: StageView }) {
  const { text, tone } = mergedText(stage);
  const { merged } = stage;
  const details =
    merged === null
      ? undefined
      : `${merged.pullRequest === null ? METHOD_NAMES[merged.method] : `Pull request #${merged.pullRequest}`}: ${count(merged.commits, 'commit')}, ${count(merged.files, 'file')} of ${merged.branch}, ${exactTime(merged.at)}`;
  const Icon = tone === 'merged' ? IconGitMerge : IconCircleCheck;
  return (
    <Flex
      component="span"
      gap="xs"
      align="center"
      c={tone === 'merged' ? undefined : 'dimmed'}
      fz="row"
      data-tone={tone}
      title={details}
    >
      <Icon size={16} aria-hidden />
      {text}
    </Flex>
  );
}

/** Takes the merge back, while git can do that without losing anything. */
function UndoMerge({ stage }: { stage: StageView }) {
  const { data } = useQuery(completionQuery(stage));
  const undo = useUndoCompletion(stage.title);
  const canCommand = useCanCommand();
  if (data?.undo?.refusal !== null) return null;
  return (
    <Button variant="default" disabled={!canCommand} loading={undo.isPending} onClick={() => undo.mutate(stage.id)}>
      Undo merge
    </Button>
  );
}

/** Interrupts the turn. `pressed` is called for a click or key on the button itself, not for Escape. */
function InterruptButton({ stage, pressed }: { stage: StageView; pressed: () => void }) {
  const interrupt = useInterrupt(stage.title);
  const off = !useCanCommand() || interrupt.isPending;
  const isCheck = stage.session !== null && isChecking(stage.session);
  const text = isCheck ? 'Stop check' : 'Interrupt';
  const does = isCheck ? 'Stop the check; you decide then' : 'Stop this turn; the session goes on';
  const isArmed = useEscapeTwice(() => {
    if (!off) interrupt.mutate(stage.id);
  });
  return (
    <Button
      variant="default"
      leftSection={<IconPlayerPauseFilled size={14} />}
      rightSection={isArmed ? null : <KeyHint>Esc Esc</KeyHint>}
      disabled={off}
      loading={interrupt.isPending}
      title={interrupt.isPending ? 'Claude has not confirmed it yet' : `${does} (Esc twice)`}
      onClick={() => {
        pressed();
        interrupt.mutate(stage.id);
      }}
    >
      {isArmed ? 'Esc again to interrupt' : text}
    </Button>
  );
}

const STAYS_MS = 1_000;

/**
 * Takes the place of the button that was just pressed. For a moment it is the only action, so that a second click does
 * not hit another one.
 */
function InterruptPressed({ over }: { over: () => void }) {
  const isOver = useEffectEvent(over);
  useEffect(() => {
    const timer = setTimeout(() => isOver(), STAYS_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Button
      variant="default"
      leftSection={<IconPlayerPauseFilled size={14} />}
      rightSection={<KeyHint>Esc Esc</KeyHint>}
      disabled
    >
      Interrupt
    </Button>
  );
}

const WITHIN_MS = 1_200;

/** Calls `run` on the second Escape in a row. Returns true between the two. An Escape that closes something is ignored. */
function useEscapeTwice(run: () => void): boolean {
  const [isArmed, setArmed] = useState(false);
  // A dialog without a fade is gone by the time its closing key arrives here.
  const isCovered = useRecentlyShown(useTopLayer() !== 'page');
  const onEscape = useEffectEvent(() => {
    if (isCovered) return;
    if (isArmed) run();
    setArmed(!isArmed);
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || event.repeat || isComposing(event)) return;
      if (document.querySelector('[role="dialog"], [role="menu"], [role="listbox"]') === null) onEscape();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  useEffect(() => {
    if (!isArmed) return;
    const timer = setTimeout(() => setArmed(false), WITHIN_MS);
    return () => clearTimeout(timer);
  }, [isArmed]);
  return isArmed;
}

/** What can be done with a stage, as on its card. */
const StageMenu = ({ stage }: { stage: StageView }) => (
  <Menu>
    <Menu.Target>
      <ActionIcon variant="default" size={32} aria-label="More">
        <IconDots size={16} />
      </ActionIcon>
    </Menu.Target>
    <Menu.Dropdown>
      <StageMenuItems stage={stage} canCommand={useCanCommand()} without={['open', 'changes']} />
    </Menu.Dropdown>
  </Menu>
);
