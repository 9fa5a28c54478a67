import { ActionIcon, Menu } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconArrowDown, IconArrowUp, IconDots, IconPencil, IconPlayerTrackNext, IconX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import css from './messages.module.css';

interface QueuedActionsProps {
  off: boolean;
  isFirst: boolean;
  isLast: boolean;
  /** Whether a turn is running, into which a message can be steered. */
  isWorking: boolean;
  /** Whether it waits for the release of the stage. */
  isPaused: boolean;
  isSending: boolean;
  move: (by: -1 | 1) => void;
  edit: () => void;
  send: (mode: 'now' | 'steer') => void;
  remove: () => void;
}

/** The actions on a queued message: side by side, or on a phone in one menu. */
export function QueuedActions(props: QueuedActionsProps) {
  const hasRoom = useMediaQuery('(min-width: 768px)', true, { getInitialValueInEffect: false });
  const { off, isFirst, isLast, isWorking, isSending } = props;
  if (!hasRoom)
    return (
      <Menu position="top-end">
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={32}
            aria-label="What to do with it"
            disabled={off}
            loading={isSending}
          >
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <SendItems {...props} />
          <Menu.Item leftSection={<IconPencil size={16} />} onClick={props.edit}>
            Edit
          </Menu.Item>
          <Menu.Item leftSection={<IconArrowUp size={16} />} disabled={isFirst} onClick={() => props.move(-1)}>
            Move up
          </Menu.Item>
          <Menu.Item leftSection={<IconArrowDown size={16} />} disabled={isLast} onClick={() => props.move(1)}>
            Move down
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item leftSection={<IconX size={16} />} onClick={props.remove}>
            Remove
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    );
  return (
    <div className={css.rowActions}>
      <RowButton label="Move up" off={off || isFirst} run={() => props.move(-1)}>
        <IconArrowUp size={16} />
      </RowButton>
      <RowButton label="Move down" off={off || isLast} run={() => props.move(1)}>
        <IconArrowDown size={16} />
      </RowButton>
      <RowButton label="Edit queued message" off={off} run={props.edit}>
        <IconPencil size={16} />
      </RowButton>
      <Menu>
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="Send queued message"
            title={isWorking ? 'Send now or steer' : 'Send now'}
            disabled={off}
            loading={isSending}
          >
            <IconPlayerTrackNext size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <SendItems {...props} />
        </Menu.Dropdown>
      </Menu>
      <RowButton label="Remove queued message" off={off} run={props.remove}>
        <IconX size={16} />
      </RowButton>
    </div>
  );
}

function SendItems({ isWorking, isPaused, send }: QueuedActionsProps) {
  return (
    <>
      <Menu.Item onClick={() => send('now')}>
        Send now{isWorking && ', interrupting Claude'}
        {isPaused && ', releasing the stage'}
      </Menu.Item>
      {isWorking && <Menu.Item onClick={() => send('steer')}>Steer: into the running turn</Menu.Item>}
    </>
  );
}

function RowButton(props: { label: string; off: boolean; run: () => void; children: ReactNode }) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={props.label}
      title={props.label}
      disabled={props.off}
      onClick={props.run}
    >
      {props.children}
    </ActionIcon>
  );
}
