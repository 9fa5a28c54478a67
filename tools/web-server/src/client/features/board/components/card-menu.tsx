import type { StageView } from '@callboard/contract';
import { Menu } from '@mantine/core';
import { IconArrowBackUp, IconArrowRight, IconCheck, IconPencil, IconPlayerPlay, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import { openCompleteDialog } from '../../../data/complete-dialog.ts';
import { openDeleteDialog } from '../../../data/delete-dialog.ts';
import { PauseItems } from '../../../data/hold-items.tsx';
import { useContinueStage, useReopenStage, useStartStage } from '../../../data/stage-commands.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useBoardUi } from '../model/board-ui.ts';
import css from './row.module.css';

/** Made once, of one path: each row has them. */
const DOTS = (
  <svg
    width={16}
    height={16}
    viewBox="0 0 16 16"
    stroke="currentColor"
    strokeWidth={2}
    strokeLinecap="round"
    aria-hidden
  >
    <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" />
  </svg>
);

/** The actions on a stage from its row. The menu is made when it is first opened: there are hundreds of rows. */
export function CardMenu({ stage }: { stage: StageView }) {
  const [wasOpened, setWasOpened] = useState(false);
  const button = { className: css.moreButton, 'aria-label': `More for ${stage.title}`, title: 'More' };
  if (wasOpened) return <OpenedMenu stage={stage} button={button} />;
  return (
    <button type="button" aria-haspopup="menu" {...button} onClick={() => setWasOpened(true)}>
      {DOTS}
    </button>
  );
}

interface OpenedMenuProps {
  stage: StageView;
  button: { className: string | undefined; 'aria-label': string };
}

function OpenedMenu({ stage, button }: OpenedMenuProps) {
  const [isOpen, setIsOpen] = useState(true);
  return (
    <Menu opened={isOpen} onChange={setIsOpen}>
      <Menu.Target>
        <button type="button" {...button}>
          {DOTS}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <MenuItems stage={stage} />
      </Menu.Dropdown>
    </Menu>
  );
}

function MenuItems({ stage }: { stage: StageView }) {
  const start = useStartStage(stage.title);
  const reopen = useReopenStage(stage.title);
  const continuing = useContinueStage(stage);
  const off = !useCanCommand();
  return (
    <>
      <Menu.Item leftSection={<IconArrowRight size={16} />} component={Link} to={`/stages/${stage.id}`}>
        Open
      </Menu.Item>
      {stage.session === null && stage.completedAt === null && (
        <Menu.Item
          leftSection={<IconPlayerPlay size={16} />}
          disabled={off || start.isPending}
          onClick={() => start.mutate(stage.id)}
        >
          Start
        </Menu.Item>
      )}
      {continuing !== null && (
        <Menu.Item
          leftSection={<IconPlayerPlay size={16} />}
          disabled={off || continuing.isSending}
          onClick={continuing.run}
        >
          {continuing.label}
          <span className={css.menuDoes}>{continuing.does}</span>
        </Menu.Item>
      )}
      {stage.completedAt === null && (
        <Menu.Item leftSection={<IconCheck size={16} />} disabled={off} onClick={() => openCompleteDialog(stage.id)}>
          Complete
        </Menu.Item>
      )}
      {stage.completedAt !== null && (
        <Menu.Item
          leftSection={<IconArrowBackUp size={16} />}
          disabled={off || reopen.isPending}
          onClick={() => reopen.mutate(stage.id)}
        >
          Reopen
        </Menu.Item>
      )}
      {stage.completedAt === null && <PauseItems stage={stage} isOff={off} />}
      <Menu.Item
        leftSection={<IconPencil size={16} />}
        onClick={() => useBoardUi.getState().open({ kind: 'edit-stage', stageId: stage.id })}
      >
        Edit
      </Menu.Item>
      <Menu.Divider />
      <Menu.Item leftSection={<IconTrash size={16} />} disabled={off} onClick={() => openDeleteDialog(stage.id)}>
        Delete
      </Menu.Item>
    </>
  );
}
