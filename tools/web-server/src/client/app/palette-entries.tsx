import { checkAtGate, isMidTurn, isPaused, pauseOfAll, type StageId, type StageView } from '@callboard/contract';
import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import {
  IconArrowBackUp,
  IconBell,
  IconBellCog,
  IconChartBar,
  IconCheck,
  IconCircleDot,
  IconClockPause,
  IconCoin,
  IconDevices,
  IconExternalLink,
  IconFileDiff,
  IconHierarchy,
  IconHistory,
  IconHourglass,
  IconInbox,
  IconKeyboard,
  IconLayoutColumns,
  IconLayoutRows,
  IconList,
  IconMessages,
  IconMoon,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerSkipForward,
  IconPlayerStop,
  IconPlus,
  IconRefresh,
  IconServer2,
  IconShieldCheck,
  IconSun,
  IconTrash,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import fuzzysort from 'fuzzysort';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import {
  budgetsDialog,
  completeDialog,
  deleteDialog,
  helpDialog,
  limitsDialog,
  loginsDialog,
  pausesDialog,
} from '../data/dialogs.ts';
import { usePutPause } from '../data/pauses.tsx';
import { boardQuery, stageOf } from '../data/queries.ts';
import { useInterrupt } from '../data/session-commands.ts';
import { useAdvanceStage, useReopenStage, useRunCheck, useStartStage } from '../data/stage-commands.ts';
import { useAside, useSetLater } from '../features/approvals/presentation.tsx';
import { COLUMN_TITLES } from '../features/board/columns.ts';
import { requestKey } from '../lib/format.ts';
import { useCanCommand } from '../stream/stream-context.tsx';
import { ProjectMark, StageIdText } from '../ui/marks.tsx';
import { useOpenForm, useOpenNewStage } from './frame-store.ts';
import { FRAME_KEYS, type KeyEntry } from './keys.ts';

/** A row of the palette. */
export interface PaletteEntry extends Findable {
  icon: ReactNode;
  /** How the label is drawn, unless as it is. */
  shown?: ReactNode;
  hint: ReactNode | null;
  keys: readonly string[] | null;
  /** Null for a stage: choosing it shows its actions. */
  act: (() => void) | null;
  stageId: StageId | null;
}

interface Check {
  icon: ReactNode;
  key?: KeyEntry;
  /** Other words by which it is found. */
  words?: string;
}

const ICON = { size: 16, stroke: 1.75, 'aria-hidden': true } as const;

const entry = (id: string, label: string, act: () => void, check: Check): PaletteEntry => ({
  id,
  label,
  group: 'Pages and actions',
  words: check.words ?? '',
  icon: check.icon,
  hint: null,
  keys: check.key?.keys ?? null,
  act,
  stageId: null,
});

/** Holds or releases everything, or opens what is on hold. */
function usePauseEntries(): PaletteEntry[] {
  const { data: ofAll = null } = useQuery({ ...boardQuery, select: (view) => pauseOfAll(view.holds) });
  const { data: hasProject = false } = useQuery({ ...boardQuery, select: (view) => view.projects.length > 0 });
  const put = usePutPause('Everything');
  const canCommand = useCanCommand();
  if (!hasProject) return [];
  const isAllPaused = ofAll !== null;
  const icon = isAllPaused ? <IconPlayerPlay {...ICON} /> : <IconPlayerPause {...ICON} />;
  const all = entry(
    'hold-all',
    isAllPaused ? 'Release everything' : 'Hold everything',
    () => put.mutate({ scope: {}, held: !isAllPaused }),
    { icon, words: 'pause stop resume all' },
  );
  const again = entry('hold-rest', 'Hold the rest again', () => put.mutate({ scope: {}, held: true }), {
    icon: <IconPlayerPause {...ICON} />,
    words: 'pause stop everything all released',
  });
  const hasReleased = ofAll !== null && ofAll.except.length > 0;
  // Opened once the palette has closed.
  const dialog = entry('holds', 'Hold and release...', () => setTimeout(pausesDialog.open), {
    icon: <IconPlayerPause {...ICON} />,
    words: 'pause project everything',
  });
  if (!canCommand) return [dialog];
  return hasReleased ? [all, again, dialog] : [all, dialog];
}

/** The pages, and what can be done on every page. */
export function usePageEntries(): PaletteEntry[] {
  const navigate = useNavigate();
  const writeStage = useOpenNewStage();
  const openForm = useOpenForm();
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('dark') === 'dark';
  const pauses = usePauseEntries();
  const { data: hasMachines = false } = useQuery({ ...boardQuery, select: (view) => view.machines.length > 0 });
  const { data: hasLimits = false } = useQuery({ ...boardQuery, select: (view) => view.limits.limits !== null });
  const page = (path: string, label: string, check: Check) => entry(path, label, () => void navigate(path), check);
  return [
    entry('new', 'New stage', writeStage, { icon: <IconPlus {...ICON} />, key: FRAME_KEYS.newStage }),
    entry('conversations', 'Continue a conversation...', openForm({ kind: 'conversations', projectId: null }), {
      icon: <IconMessages {...ICON} />,
      words: 'terminal adopt resume move in',
    }),
    entry('issues', 'Import issues...', openForm({ kind: 'issues', projectId: null }), {
      icon: <IconCircleDot {...ICON} />,
      words: 'github gitlab gh glab move in',
    }),
    page('/', 'Board', { icon: <IconLayoutColumns {...ICON} />, key: FRAME_KEYS.board }),
    page('/?view=lanes', 'Board by group', { icon: <IconLayoutRows {...ICON} />, words: 'lanes epic ticket' }),
    page('/?view=graph', 'Graph of dependencies', { icon: <IconHierarchy {...ICON} />, words: 'board waits blocks' }),
    page('/inbox', 'Inbox', { icon: <IconInbox {...ICON} />, key: FRAME_KEYS.inbox }),
    page('/sessions', 'Sessions', { icon: <IconList {...ICON} />, key: FRAME_KEYS.sessions }),
    page('/decisions', 'Decisions', { icon: <IconHistory {...ICON} />, key: FRAME_KEYS.decisions }),
    page('/rules', 'Rules', {
      icon: <IconShieldCheck {...ICON} />,
      words: 'permissions always allow revoke grant settings',
    }),
    page('/notifications', 'Notifications', {
      icon: <IconBellCog {...ICON} />,
      words: 'alerts sound quiet hours push outgoing webhook slack discord telegram ntfy escalation settings',
    }),
    page('/numbers', 'Numbers', { icon: <IconChartBar {...ICON} />, words: 'charts statistics cost tokens waits csv' }),
    ...(hasMachines
      ? [page('/machines', 'Machines', { icon: <IconServer2 {...ICON} />, words: 'hosts servers load memory lost' })]
      : []),
    page('/trash', 'Trash', { icon: <IconTrash {...ICON} /> }),
    // Opened once the palette has closed.
    ...pauses,
    ...(hasLimits
      ? [
          entry('limits', 'Usage limits', () => setTimeout(limitsDialog.open), {
            icon: <IconHourglass {...ICON} />,
            words: 'quota',
          }),
        ]
      : []),
    entry('budgets', 'Budgets', () => setTimeout(() => budgetsDialog.open()), {
      icon: <IconCoin {...ICON} />,
      words: 'cost money tokens spending limit',
    }),
    entry('logins', 'Logins', () => setTimeout(loginsDialog.open), { icon: <IconDevices {...ICON} /> }),
    entry('theme', isDark ? 'Light theme' : 'Dark theme', () => setColorScheme(isDark ? 'light' : 'dark'), {
      icon: isDark ? <IconSun {...ICON} /> : <IconMoon {...ICON} />,
      words: 'colour scheme',
    }),
    entry('help', 'Keyboard shortcuts', () => setTimeout(helpDialog.open), {
      icon: <IconKeyboard {...ICON} />,
      key: FRAME_KEYS.help,
      words: 'help keys',
    }),
  ];
}

/** Every stage, those that need a person first. */
export function useStageEntries(): PaletteEntry[] {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const { data: stages = [] } = useQuery({ ...boardQuery, select: (view) => view.stages });
  const names = new Map(projects.map(({ id, name }) => [id, name]));
  const called = (stage: StageView) => (stage.column === 'needs-you' ? 0 : 1);
  return stages
    .toSorted((a, b) => called(a) - called(b))
    .map((stage) => {
      const project = names.get(stage.projectId) ?? stage.projectId;
      return {
        id: stage.id,
        label: stage.title,
        group: 'Stages',
        words: `${stage.id} ${project} ${COLUMN_TITLES[stage.column]}`,
        icon: <ProjectMark name={project} />,
        hint: (
          <>
            {COLUMN_TITLES[stage.column]} <StageIdText id={stage.id} />
          </>
        ),
        keys: null,
        act: null,
        stageId: stage.id,
      };
    });
}

const ACTION_ICONS: Readonly<Record<StageAction, ReactNode>> = {
  open: <IconExternalLink {...ICON} />,
  changes: <IconFileDiff {...ICON} />,
  start: <IconPlayerPlay {...ICON} />,
  hold: <IconPlayerPause {...ICON} />,
  release: <IconPlayerPlay {...ICON} />,
  interrupt: <IconPlayerStop {...ICON} />,
  'next-phase': <IconPlayerSkipForward {...ICON} />,
  'run-check': <IconRefresh {...ICON} />,
  accept: <IconPlayerSkipForward {...ICON} />,
  complete: <IconCheck {...ICON} />,
  reopen: <IconArrowBackUp {...ICON} />,
  later: <IconClockPause {...ICON} />,
  'call-again': <IconBell {...ICON} />,
  delete: <IconTrash {...ICON} />,
};

/** The requests of a stage, and how this person sets them aside or lets them call again. */
function useLater(stageId: StageId | null): Calls & { setAside: () => void; callAgain: () => void } {
  const { data: pending = [] } = useQuery({ ...boardQuery, select: (view) => view.pending });
  const aside = useAside();
  const setLater = useSetLater();
  const own = pending.filter((request) => request.stageId === stageId);
  const calling = own.filter((request) => !aside.has(requestKey(request)));
  const others = own.filter((request) => aside.has(requestKey(request)));
  return {
    calls: calling.length > 0,
    isAside: others.length > 0,
    setAside: () => setLater.mutate({ requests: calling, later: { until: null } }),
    callAgain: () => setLater.mutate({ requests: others, later: null }),
  };
}

/** What can be done with one stage as it is now. */
export function useActionEntries(stageId: StageId | null): PaletteEntry[] {
  const navigate = useNavigate();
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => (stageId === null ? undefined : stageOf(stageId)(view)),
  });
  const title = stage?.title ?? 'The stage';
  const { data: pauses = [] } = useQuery({ ...boardQuery, select: (view) => view.holds });
  const start = useStartStage(title);
  const pause = usePutPause(title);
  const interrupt = useInterrupt(title);
  const advance = useAdvanceStage(title);
  const check = useRunCheck(title);
  const reopen = useReopenStage(title);
  const later = useLater(stageId);
  const canCommand = useCanCommand();
  if (stage === undefined) return [];
  const { id } = stage;
  const acts: Readonly<Record<StageAction, () => void>> = {
    open: () => void navigate(`/stages/${id}`),
    changes: () => void navigate(`/stages/${id}?tab=changes`),
    start: () => start.mutate(id),
    hold: () => pause.mutate({ scope: { stageIds: [id] }, held: true }),
    release: () => pause.mutate({ scope: { stageIds: [id] }, held: false }),
    interrupt: () => interrupt.mutate(id),
    'next-phase': () => advance.mutate(id),
    'run-check': () => check.mutate(id),
    accept: () => advance.mutate(id),
    complete: () => completeDialog.open(id),
    reopen: () => reopen.mutate(id),
    later: later.setAside,
    'call-again': later.callAgain,
    delete: () => deleteDialog.open(id),
  };
  return stageActions(stage, { ...later, paused: isPaused(stage, pauses) }, canCommand).map((action) => ({
    id: `${id} ${action}`,
    label: ACTION_TEXTS[action],
    group: 'Pages and actions',
    words: '',
    icon: ACTION_ICONS[action],
    hint: null,
    keys: null,
    act: acts[action],
    stageId: null,
  }));
}

/** Something that the palette finds. */
export interface Findable {
  /** Stays the same over reloads: recent ones are remembered by it. */
  id: string;
  label: string;
  group: 'Pages and actions' | 'Stages' | 'In prompts' | 'In comments' | 'In transcripts';
  /** Other words by which it is found, such as a stage's id and project. */
  words: string;
}

export interface Found<T extends Findable> {
  /** Null for the hits of a search, which are in the order of how well they fit. */
  title: string | null;
  entries: T[];
}

/** So many are drawn at most. */
const SHOWN = 50;
const REMEMBERED = 8;
/** How well a hit must fit, from 0 to 1: letters that are far from one another fit badly. */
const LOOSE = 0.2;
/** What was used lately fits a little better than what was not. */
const RECENT_BONUS = 0.05;

/** Finds entries by a few letters, in any order of words. Without letters: the recent ones, then all in their groups. */
export function findEntries<T extends Findable>(
  entries: readonly T[],
  query: string,
  recent: readonly string[],
): Found<T>[] {
  const wanted = query.trim();
  if (wanted === '') return inGroups(entries, recent);
  const hits = fuzzysort.go(wanted, entries, {
    keys: ['label', 'words'],
    limit: SHOWN,
    threshold: LOOSE,
    scoreFn: (hit) => hit.score + (hit.score > 0 && recent.includes(hit.obj.id) ? RECENT_BONUS : 0),
  });
  return hits.length === 0 ? [] : [{ title: null, entries: hits.map(({ obj }) => obj) }];
}

function inGroups<T extends Findable>(entries: readonly T[], recent: readonly string[]): Found<T>[] {
  const recentlyShown = recent.flatMap((id) => entries.find((entry) => entry.id === id) ?? []);
  const others = entries.filter((entry) => !recentlyShown.includes(entry));
  const groups = [
    { title: 'Recent', entries: recentlyShown },
    ...(['Pages and actions', 'Stages'] as const).map((title) => ({
      title,
      entries: others.filter(({ group }) => group === title),
    })),
  ];
  let room = SHOWN;
  return groups.flatMap(({ title, entries: all }) => {
    const shown = all.slice(0, room);
    room -= shown.length;
    return shown.length === 0 ? [] : [{ title, entries: shown }];
  });
}

/** The list of recent ones with one more, the newest first. */
export const withRecent = (recent: readonly string[], id: string): string[] =>
  [id, ...recent.filter((other) => other !== id)].slice(0, REMEMBERED);

/** What can be done with a stage from the palette. Nothing here is final: "Complete..." and "Delete..." ask first. */
export type StageAction =
  | 'open'
  | 'changes'
  | 'later'
  | 'call-again'
  | 'start'
  | 'hold'
  | 'release'
  | 'interrupt'
  | 'next-phase'
  | 'run-check'
  | 'accept'
  | 'complete'
  | 'reopen'
  | 'delete';

/** A stage's requests: whether one calls this person, and whether they set one aside. */
export interface Calls {
  calls: boolean;
  isAside: boolean;
}

/** The actions of a stage as it is now; the first one is what Enter does. */
export function stageActions(
  stage: StageView,
  { calls, isAside, paused }: Calls & { paused: boolean },
  canCommand: boolean,
): StageAction[] {
  const check: StageAction[] = stage.session === null ? ['open'] : ['open', 'changes'];
  if (!canCommand) return check;
  const later: StageAction[] = calls ? ['later'] : isAside ? ['call-again'] : [];
  const pause: StageAction[] = stage.completedAt !== null ? [] : paused ? ['release'] : ['hold'];
  return [...check, ...later, ...commandsOf(stage), ...pause, 'delete'];
}

function commandsOf({ session, completedAt }: StageView): StageAction[] {
  if (completedAt !== null) return ['reopen'];
  if (session === null) return ['start'];
  if (isMidTurn(session.state)) return ['interrupt'];
  if (session.state === 'starting') return [];
  if (checkAtGate({ session }) !== null) return ['run-check', 'accept', 'complete'];
  return session.atGate ? ['next-phase', 'complete'] : ['complete'];
}

const ACTION_TEXTS: Readonly<Record<StageAction, string>> = {
  open: 'Open',
  changes: 'Open changes',
  later: 'Later',
  'call-again': 'Call me again',
  start: 'Start',
  hold: 'Hold',
  release: 'Release',
  interrupt: 'Interrupt',
  'next-phase': 'Start the next phase',
  'run-check': 'Run the check again',
  accept: 'Accept although the check did not pass',
  complete: 'Complete...',
  reopen: 'Reopen',
  delete: 'Delete...',
};
