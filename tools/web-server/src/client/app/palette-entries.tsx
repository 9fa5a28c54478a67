import { pauseOfAll, type StageId, type StageView } from '@callboard/contract';
import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import {
  IconBell,
  IconBellCog,
  IconChartBar,
  IconCircleDot,
  IconClockPause,
  IconCoin,
  IconCpu,
  IconDevices,
  IconDeviceTv,
  IconFlag,
  IconFolder,
  IconFolderPlus,
  IconHierarchy,
  IconHistory,
  IconHourglass,
  IconInbox,
  IconKeyboard,
  IconLayoutColumns,
  IconLayoutRows,
  IconList,
  IconLogout,
  IconMessages,
  IconMoon,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlugOff,
  IconPlus,
  IconServer2,
  IconShieldCheck,
  IconSun,
  IconTrash,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import fuzzysort from 'fuzzysort';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { useEditStage } from '../data/board-commands.ts';
import { budgetsDialog, crashDialog, helpDialog, limitsDialog, loginsDialog, pausesDialog } from '../data/dialogs.ts';
import { usePutPause } from '../data/pauses.tsx';
import { boardQuery, useCapabilities } from '../data/queries.ts';
import { useSetModel } from '../data/session-commands.ts';
import { useStageActions } from '../data/stage-actions.tsx';
import { useAside, useSetLater } from '../features/approvals/presentation.tsx';
import { COLUMN_TITLES } from '../features/board/columns.ts';
import { useLogout } from '../features/logins/new-logins.tsx';
import { requestKey } from '../lib/format.ts';
import { modelOptions } from '../lib/stage-options.ts';
import { useCanCommand } from '../stream/stream-context.tsx';
import { PRIORITIES, ProjectMark, StageIdText } from '../ui/marks.tsx';
import { useOpenForm, useOpenNewStage } from './frame-store.ts';
import { FRAME_KEYS, type KeyEntry } from './keys.ts';

/** A row of the palette. */
export interface PaletteEntry extends Findable {
  icon: ReactNode;
  /** How the label is drawn, unless as it is. */
  shown?: ReactNode;
  hint: ReactNode | null;
  keys: readonly string[] | null;
  /** Null for a stage, and for what has choices: choosing it shows them. */
  act: (() => void) | null;
  stageId: StageId | null;
  choices?: readonly PaletteEntry[];
  /** Drawn on two lines, its hint below. */
  isText?: true;
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
  const logout = useLogout();
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
    page('/?view=list', 'Board as a list', {
      icon: <IconList {...ICON} />,
      key: FRAME_KEYS.list,
      words: 'sessions table cost context',
    }),
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
    page('/wall', 'Wall', { icon: <IconDeviceTv {...ICON} />, words: 'monitor full screen departures room tv' }),
    page('/trash', 'Trash', { icon: <IconTrash {...ICON} />, words: 'deleted leftovers restore' }),
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
    entry('logins', 'Logins', () => setTimeout(loginsDialog.open), {
      icon: <IconDevices {...ICON} />,
      words: 'add device phone qr link revoke account',
    }),
    entry('crash', 'Pull the plug...', () => setTimeout(crashDialog.open), {
      icon: <IconPlugOff {...ICON} />,
      words: 'kill crash restart sigkill test',
    }),
    entry('logout', 'Log out', () => logout.mutate(undefined), {
      icon: <IconLogout {...ICON} />,
      words: 'account sign',
    }),
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

/** What can be done with one stage as it is now. @param isShown whether its page is open */
export function useActionEntries(stage: StageView, isShown: boolean): PaletteEntry[] {
  const { id, title, projectId } = stage;
  const later = useLater(id);
  const canCommand = useCanCommand();
  const actions = useStageActions(stage, canCommand).filter((action) => !isShown || action.id !== 'open');
  const openForm = useOpenForm();
  const { data: project = projectId } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find((other) => other.id === projectId)?.name,
  });
  const capabilities = useCapabilities({ stageId: id });
  const setModel = useSetModel(id, title);
  const edit = useEditStage();
  const own = (action: string, label: string, act: (() => void) | null, more: Partial<PaletteEntry>): PaletteEntry => ({
    ...entry(`${id} ${action}`, label, () => undefined, { icon: null }),
    group: 'This stage',
    act,
    ...more,
  });
  const entries = actions.map(({ id: action, label, words, Icon, keys, act }) =>
    // What opens a dialog waits until the palette has closed.
    own(action, label, () => setTimeout(act), { words, icon: <Icon {...ICON} />, keys: keys ?? null }),
  );
  const settings = own('project', `Settings of ${project}`, openForm({ kind: 'project', projectId }), {
    icon: <IconFolder {...ICON} />,
    words: 'project',
  });
  if (!canCommand) return [...entries, settings];
  const aside = later.calls
    ? [
        own('later', 'Snooze its requests', later.setAside, {
          icon: <IconClockPause {...ICON} />,
          words: 'later aside',
        }),
      ]
    : later.isAside
      ? [own('call-again', 'Show its requests again', later.callAgain, { icon: <IconBell {...ICON} />, words: 'call' })]
      : [];
  const models = modelOptions(capabilities, stage.session?.model ?? stage.model).options.map(({ value, label }) =>
    own(`model ${value}`, label, () => setModel.mutate({ model: value === '' ? null : value }), {
      icon: <IconCpu {...ICON} />,
    }),
  );
  const priorities = PRIORITIES.map(({ value, word }) =>
    own(`priority ${value}`, word, () => edit.mutate({ stageId: id, patch: { priority: value } }), {
      icon: <IconFlag {...ICON} />,
    }),
  );
  const choices = [
    ...(stage.session !== null && stage.completedAt === null
      ? [own('model', 'Model', null, { choices: models, icon: <IconCpu {...ICON} />, words: 'opus sonnet haiku' })]
      : []),
    own('priority', 'Priority', null, { choices: priorities, icon: <IconFlag {...ICON} />, words: 'urgent high low' }),
  ];
  return [...entries.slice(0, 1), ...aside, ...entries.slice(1), ...choices, settings];
}

/** The settings of each project, and a new stage in it. */
export function useProjectEntries(): PaletteEntry[] {
  const openForm = useOpenForm();
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const add = entry('add-project', 'Add project', openForm({ kind: 'add-project', thenNewStage: false }), {
    icon: <IconFolderPlus {...ICON} />,
    words: 'repository folder',
  });
  const all = projects.flatMap(({ id, name }) => [
    entry(`project ${id}`, `Settings of ${name}`, openForm({ kind: 'project', projectId: id }), {
      icon: <IconFolder {...ICON} />,
      words: 'project name worktrees pipelines sandbox import export git remove',
    }),
    ...(projects.length > 1
      ? [
          entry(`new ${id}`, `New stage in ${name}`, openForm({ kind: 'new-stage', projectId: id }), {
            icon: <IconPlus {...ICON} />,
          }),
        ]
      : []),
  ]);
  return [...all, add].map((one) => ({ ...one, group: 'Projects' }));
}

/** Something that the palette finds. */
export interface Findable {
  /** Stays the same over reloads: recent ones are remembered by it. */
  id: string;
  label: string;
  group: 'This stage' | 'Pages and actions' | 'Projects' | 'Stages' | 'In prompts' | 'In comments' | 'In transcripts';
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
/** What can be done with the stage at hand comes before the same words elsewhere. */
const STAGE_BONUS = 0.3;

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
    scoreFn: ({ score, obj }) =>
      score === 0
        ? 0
        : score + (recent.includes(obj.id) ? RECENT_BONUS : 0) + (obj.group === 'This stage' ? STAGE_BONUS : 0),
  });
  return hits.length === 0 ? [] : [{ title: null, entries: hits.map(({ obj }) => obj) }];
}

function inGroups<T extends Findable>(entries: readonly T[], recent: readonly string[]): Found<T>[] {
  const ofStage = entries.filter(({ group }) => group === 'This stage');
  const recentlyShown = recent.flatMap((id) => entries.find((entry) => entry.id === id) ?? []);
  const others = entries.filter((entry) => !recentlyShown.includes(entry));
  const groups = [
    { title: 'This stage', entries: ofStage },
    { title: 'Recent', entries: recentlyShown },
    ...(['Pages and actions', 'Projects', 'Stages'] as const).map((title) => ({
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

/** A stage's requests: whether one calls this person, and whether they set one aside. */
export interface Calls {
  calls: boolean;
  isAside: boolean;
}
