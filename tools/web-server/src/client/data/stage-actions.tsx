import { checkAtGate, hasEnded, isActive, isMidTurn, type StageView } from '@callboard/contract';
import { Menu, Text } from '@mantine/core';
import {
  IconArrowBackUp,
  IconCheck,
  IconCopy,
  IconExternalLink,
  IconFileDiff,
  IconForms,
  IconMovie,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerSkipForward,
  IconPlayerStop,
  IconRefresh,
  IconSquareX,
  IconTerminal2,
  IconTrash,
} from '@tabler/icons-react';
import { type ComponentType, Fragment } from 'react';
import { useNavigate } from 'react-router';
import { pagePath } from '../lib/base-path.ts';
import { canLeaveToTerminal } from '../lib/stage-status.ts';
import { useBoardUi } from './board-ui.ts';
import { completeDialog, deleteDialog, finishBar, renameDialog, terminalDialog } from './dialogs.ts';
import { useIsPaused, usePutPause } from './pauses.tsx';
import { useInterrupt } from './session-commands.ts';
import {
  continueAction,
  useAdvanceStage,
  useContinueStage,
  useReopenStage,
  useRunCheck,
  useStartStage,
  useStopStage,
} from './stage-commands.ts';

/** What can be done with a stage. Nothing here is final: what cannot be undone asks first. */
export type StageActionId = keyof typeof ACTIONS;

interface ActionText {
  label: string;
  /** Other words by which the palette finds it. */
  words: string;
  Icon: ComponentType<{ size: number; stroke?: number }>;
  /** The key that does it, on the board and on the stage's page. */
  keys?: readonly string[];
}

const ACTIONS = {
  open: { label: 'Open', words: 'show transcript', Icon: IconExternalLink, keys: ['Enter'] },
  changes: { label: 'Open changes', words: 'diff review files', Icon: IconFileDiff },
  start: { label: 'Start', words: 'run', Icon: IconPlayerPlay, keys: ['S'] },
  continue: { label: 'Continue', words: 'resume go on', Icon: IconPlayerPlay },
  interrupt: { label: 'Interrupt', words: 'stop cancel turn', Icon: IconPlayerStop, keys: ['Esc Esc'] },
  'next-phase': { label: 'Start the next phase', words: 'advance', Icon: IconPlayerSkipForward },
  'run-check': { label: 'Run the check again', words: 'test', Icon: IconRefresh },
  accept: { label: 'Accept although the check did not pass', words: 'advance', Icon: IconPlayerSkipForward },
  finish: { label: 'Finish', words: 'merge complete done pull request', Icon: IconCheck, keys: ['Shift', 'M'] },
  reopen: { label: 'Reopen', words: 'undo back review', Icon: IconArrowBackUp },
  hold: { label: 'Hold', words: 'pause', Icon: IconPlayerPause, keys: ['H'] },
  release: { label: 'Release', words: 'resume unpause', Icon: IconPlayerPlay, keys: ['H'] },
  'hold-interrupt': { label: 'Hold and interrupt', words: 'pause stop', Icon: IconPlayerPause },
  rename: { label: 'Rename', words: 'title', Icon: IconForms, keys: ['F2'] },
  edit: { label: 'Edit', words: 'priority group dependencies prompt branch settings', Icon: IconPencil },
  terminal: { label: 'Continue in a terminal', words: 'shell cli claude resume', Icon: IconTerminal2 },
  'copy-branch': { label: 'Copy the branch’s name', words: 'git checkout', Icon: IconCopy },
  replay: { label: 'Replay', words: 'film video watch history', Icon: IconMovie },
  'end-session': { label: 'End session', words: 'stop kill process', Icon: IconSquareX },
  delete: { label: 'Delete', words: 'remove trash', Icon: IconTrash, keys: ['Delete'] },
} as const satisfies Record<string, ActionText>;

/** What commands nothing. */
const SHOWS: readonly StageActionId[] = ['open', 'changes', 'copy-branch', 'replay'];

/** The actions of a stage as it is now, likeliest first. While nothing can be commanded, only those that command nothing. */
export function stageActions(stage: StageView, isHeld: boolean, canCommand: boolean): StageActionId[] {
  const { session, completedAt, worktree } = stage;
  const show: StageActionId[] = session === null ? ['open'] : ['open', 'changes'];
  const copy: StageActionId[] = [
    ...(worktree === null ? [] : (['copy-branch'] as const)),
    ...(session === null || isActive(session.state) ? [] : (['replay'] as const)),
  ];
  if (!canCommand) return [...show, ...copy];
  const runs = session !== null && isMidTurn(session.state);
  const hold: StageActionId[] = isHeld ? ['release'] : runs ? ['hold', 'hold-interrupt'] : ['hold'];
  return [
    ...show,
    ...commandsOf(stage),
    ...(completedAt === null ? hold : []),
    'rename',
    'edit',
    ...(canLeaveToTerminal(stage) ? (['terminal'] as const) : []),
    ...copy,
    ...(session !== null && !hasEnded(session.state) ? (['end-session'] as const) : []),
    'delete',
  ];
}

function commandsOf(stage: StageView): StageActionId[] {
  const { session, completedAt } = stage;
  if (completedAt !== null) return ['reopen'];
  if (session === null) return ['start', 'finish'];
  if (isMidTurn(session.state)) return ['interrupt'];
  if (session.state === 'starting') return [];
  if (checkAtGate({ session }) !== null) return ['run-check', 'accept', 'finish'];
  if (session.atGate) return ['next-phase', 'finish'];
  return continueAction(stage) === null ? ['finish'] : ['continue', 'finish'];
}

export interface StageAction extends ActionText {
  id: StageActionId;
  /** What it does, if the label does not say it. */
  does: string | null;
  isSending: boolean;
  act: () => void;
}

/** What can be done with a stage now: the entries of its menus and of the palette. */
export function useStageActions(stage: StageView, canCommand: boolean): StageAction[] {
  const { id, title } = stage;
  const navigate = useNavigate();
  const isHeld = useIsPaused(stage);
  const pause = usePutPause(title);
  const start = useStartStage(title);
  const continuing = useContinueStage(stage);
  const interrupt = useInterrupt(title);
  const advance = useAdvanceStage(title);
  const check = useRunCheck(title);
  const reopen = useReopenStage(title);
  const stop = useStopStage(title);
  const askFinish = useAskFinish(stage);
  const scope = { stageIds: [id] };
  const acts: Readonly<Record<StageActionId, () => void>> = {
    open: () => void navigate(`/stages/${id}`),
    changes: () => void navigate(`/stages/${id}?tab=changes`),
    start: () => start.mutate(id),
    continue: () => continuing?.run(),
    interrupt: () => interrupt.mutate(id),
    'next-phase': () => advance.mutate(id),
    'run-check': () => check.mutate(id),
    accept: () => advance.mutate(id),
    finish: askFinish,
    reopen: () => reopen.mutate(id),
    hold: () => pause.mutate({ scope, held: true }),
    release: () => pause.mutate({ scope, held: false }),
    'hold-interrupt': () => pause.mutate({ scope, held: true, interrupt: true }),
    rename: () => renameDialog.open(id),
    edit: () => {
      useBoardUi.getState().open({ kind: 'edit-stage', stageId: id });
      if (pagePath(window.location.pathname) !== '/') void navigate('/');
    },
    terminal: () => terminalDialog.open(id),
    'copy-branch': () => void navigator.clipboard?.writeText(stage.worktree?.branch ?? ''),
    replay: () => void navigate(`/stages/${id}/replay`),
    'end-session': () => stop.mutate(id),
    delete: () => deleteDialog.open(id),
  };
  const sent = [start, interrupt, advance, check, reopen, stop, pause].some(({ isPending }) => isPending);
  return stageActions(stage, isHeld, canCommand).map((action) => ({
    ...ACTIONS[action],
    id: action,
    ...(action === 'continue' && continuing !== null
      ? { label: continuing.label, does: continuing.does, isSending: continuing.isSending }
      : { does: null, isSending: sent }),
    act: acts[action],
  }));
}

/** Asks how to finish a stage: on its page below its changes; elsewhere, and where there are none to show, in a dialog. */
export function useAskFinish({ id, session }: StageView): () => void {
  const navigate = useNavigate();
  return () => {
    const page = `/stages/${id}`;
    if (pagePath(window.location.pathname) !== page || (session?.changes?.files ?? 0) === 0)
      return completeDialog.open(id);
    finishBar.open(id);
    void navigate(`${page}?tab=changes`, { replace: true });
  };
}

/** The menu of a stage, the same on its card and on its page. @param without what the place has already */
export function StageMenuItems({ stage, canCommand, without = [] }: StageMenuProps) {
  // What cannot be commanded now keeps its place.
  const actions = useStageActions(stage, true).filter(({ id }) => !without.includes(id));
  return actions.map(({ id, label, does, Icon, keys, isSending, act }) => (
    <Fragment key={id}>
      {(id === 'rename' || id === 'delete') && <Menu.Divider />}
      <Menu.Item
        leftSection={<Icon size={16} />}
        rightSection={keys !== undefined && <kbd aria-hidden>{keys.join(' ')}</kbd>}
        disabled={isSending || (!canCommand && !SHOWS.includes(id))}
        onClick={act}
      >
        {label}
        {does !== null && (
          <Text size="xs" c="dimmed" maw={240}>
            {does}
          </Text>
        )}
      </Menu.Item>
    </Fragment>
  ));
}

interface StageMenuProps {
  stage: StageView;
  canCommand: boolean;
  without?: readonly StageActionId[];
}
