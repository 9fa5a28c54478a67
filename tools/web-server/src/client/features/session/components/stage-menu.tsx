import { hasEnded, type StageView } from '@callboard/contract';
import { ActionIcon, Menu } from '@mantine/core';
import { IconDots, IconPlayerStop, IconTrash } from '@tabler/icons-react';
import { openDeleteDialog } from '../../../data/delete-dialog.ts';
import { useStopStage } from '../../../data/stage-commands.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';

/** The less frequent actions on a stage. */
export function StageMenu({ stage }: { stage: StageView }) {
  const stop = useStopStage(stage.title);
  const off = !useCanCommand();
  const runs = stage.session !== null && !hasEnded(stage.session.state);
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon variant="default" size={32} aria-label="More" loading={stop.isPending}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconPlayerStop size={16} />}
          disabled={off || !runs}
          onClick={() => stop.mutate(stage.id)}
        >
          End session
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconTrash size={16} />} disabled={off} onClick={() => openDeleteDialog(stage.id)}>
          Delete
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
