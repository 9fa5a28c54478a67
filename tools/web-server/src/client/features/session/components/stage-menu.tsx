import { hasEnded, type StageView } from '@callboard/contract';
import { ActionIcon, Menu } from '@mantine/core';
import { IconDots, IconPlayerStop, IconTerminal2, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { openDeleteDialog } from '../../../data/delete-dialog.ts';
import { PauseItems } from '../../../data/hold-items.tsx';
import { useStopStage } from '../../../data/stage-commands.ts';
import { canLeaveToTerminal } from '../../../lib/terminal-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorBoundary, lazyComponent } from '../../../ui/error-boundary.tsx';

const TerminalDialog = lazyComponent(() => import('./terminal-dialog.tsx'));

/** The less frequent actions on a stage. */
export function StageMenu({ stage }: { stage: StageView }) {
  const stop = useStopStage(stage.title);
  const off = !useCanCommand();
  const [isLeaving, setLeaving] = useState(false);
  const runs = stage.session !== null && !hasEnded(stage.session.state);
  return (
    <>
      {isLeaving && (
        <ErrorBoundary name="This dialog" close={() => setLeaving(false)}>
          <TerminalDialog stage={stage} close={() => setLeaving(false)} />
        </ErrorBoundary>
      )}
      <Menu>
        <Menu.Target>
          <ActionIcon variant="default" size={32} aria-label="More" loading={stop.isPending}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconTerminal2 size={16} />}
            disabled={off || !canLeaveToTerminal(stage)}
            onClick={() => setLeaving(true)}
          >
            Continue in a terminal
          </Menu.Item>
          <Menu.Item
            leftSection={<IconPlayerStop size={16} />}
            disabled={off || !runs}
            onClick={() => stop.mutate(stage.id)}
          >
            End session
          </Menu.Item>
          {stage.completedAt === null && <PauseItems stage={stage} isOff={off} />}
          <Menu.Divider />
          <Menu.Item leftSection={<IconTrash size={16} />} disabled={off} onClick={() => openDeleteDialog(stage.id)}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
