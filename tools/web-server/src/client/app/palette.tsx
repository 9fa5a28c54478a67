import { isMidTurn, type StageView } from '@callboard/contract';
import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { createSpotlight, Spotlight, type SpotlightActionData } from '@mantine/spotlight';
import '@mantine/spotlight/styles.css';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useNavigate } from 'react-router';
import { boardQuery } from '../data/queries.ts';
import { useAdvanceStage, useCompleteStage, useStartStage } from '../data/stage-commands.ts';
import { COLUMN_TITLES } from '../features/board/model/columns.ts';
import { useOverlayState } from '../features/interaction/model/overlay-queue.ts';
import { useInterrupt } from '../features/session/api/session-commands.ts';
import { requestKey } from '../lib/request-text.ts';
import { useCanCommand } from '../stream/stream-context.tsx';
import { useCoversPage } from '../ui/dialog-layers.ts';
import { closeFrameUi, openHelp } from './frame-store.ts';
import { FRAME_KEYS, type KeyEntry } from './keys.ts';
import { useOpenNewStage } from './use-open-new-stage.ts';

const [store, spotlight] = createSpotlight();
const SHOWN = 60;

/** Finds stages, pages and actions by a few letters. */
export default function Palette({ opened }: { opened: boolean }) {
  useCoversPage(opened);
  const pages = usePageActions();
  const stages = useStageActions();
  useEffect(() => {
    if (opened) spotlight.open();
    else spotlight.close();
  }, [opened]);
  return (
    <Spotlight
      store={store}
      shortcut={null}
      actions={[
        { group: 'Actions and pages', actions: pages },
        { group: 'Stages', actions: stages },
      ]}
      limit={SHOWN}
      scrollable
      maxHeight={420}
      highlightQuery={false}
      nothingFound="Nothing is called that"
      overlayProps={{ backgroundOpacity: 0.4, blur: 0 }}
      transitionProps={{ duration: 100 }}
      searchProps={{
        leftSection: <IconSearch size={18} aria-hidden />,
        placeholder: 'Search stages, pages and actions',
        'aria-label': 'Search or command',
      }}
      onSpotlightClose={() => {
        // The chosen action may have opened something else.
        if (opened) closeFrameUi();
      }}
    />
  );
}

const shortcut = (entry: KeyEntry) => <kbd>{entry.keys.join(' ')}</kbd>;

function usePageActions(): SpotlightActionData[] {
  const navigate = useNavigate();
  const writeStage = useOpenNewStage();
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  const { setAside, bringBack } = useOverlayState();
  const { data: pending = [] } = useQuery({ ...boardQuery, select: (view) => view.pending });
  const page = (label: string, path: string, key?: KeyEntry): SpotlightActionData => ({
    id: path,
    label,
    keywords: 'page go',
    ...(key && { rightSection: shortcut(key) }),
    onClick: () => void navigate(path),
  });
  return [
    { id: 'new', label: 'New stage', rightSection: shortcut(FRAME_KEYS.newStage), onClick: writeStage },
    page('Board', '/', FRAME_KEYS.board),
    page('Inbox', '/inbox', FRAME_KEYS.inbox),
    page('Sessions', '/sessions', FRAME_KEYS.sessions),
    page('Decisions', '/decisions', FRAME_KEYS.decisions),
    page('Trash', '/trash'),
    ...(pending.length > 0
      ? [
          { id: 'aside', label: 'Set all requests aside', onClick: () => setAside(pending.map(requestKey)) },
          { id: 'back', label: 'Bring back what was set aside', onClick: bringBack },
        ]
      : []),
    {
      id: 'scheme',
      label: isDark ? 'Use the light scheme' : 'Use the dark scheme',
      keywords: 'theme colour dark light',
      onClick: () => setColorScheme(isDark ? 'light' : 'dark'),
    },
    {
      id: 'help',
      label: 'Show the keys',
      keywords: 'help shortcuts keyboard',
      rightSection: shortcut(FRAME_KEYS.help),
      onClick: () => setTimeout(openHelp),
    },
  ];
}

function useStageActions(): SpotlightActionData[] {
  const navigate = useNavigate();
  const { data: stages = [] } = useQuery({ ...boardQuery, select: (view) => view.stages });
  const start = useStartStage('The stage');
  const interrupt = useInterrupt('The stage');
  const advance = useAdvanceStage('The stage');
  const complete = useCompleteStage('The stage');
  const canCommand = useCanCommand();
  const commandsOf = (stage: StageView): SpotlightActionData[] => {
    const command = (verb: string, run: { mutate: (id: StageView['id']) => void }): SpotlightActionData => ({
      id: `${verb} ${stage.id}`,
      label: `${verb} ${stage.title}`,
      description: COLUMN_TITLES[stage.column],
      keywords: String(stage.id),
      onClick: () => run.mutate(stage.id),
    });
    const state = stage.session?.state;
    if (!canCommand || stage.completedAt !== null) return [];
    if (state === undefined) return [command('Start', start)];
    if (isMidTurn(state)) return [command('Interrupt', interrupt)];
    if (state === 'starting') return [];
    return [...(stage.session?.atGate ? [command('Let go on', advance)] : []), command('Complete', complete)];
  };
  return stages.flatMap((stage) => [
    {
      id: `open ${stage.id}`,
      label: stage.title,
      description: COLUMN_TITLES[stage.column],
      keywords: `${stage.id} ${stage.projectId} open`,
      onClick: () => void navigate(`/stages/${stage.id}`),
    },
    ...commandsOf(stage),
  ]);
}
