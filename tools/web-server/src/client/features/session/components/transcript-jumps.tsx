import { ActionIcon, Button, Loader } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import css from './transcript.module.css';

export interface Jumps {
  isAwayFromEnd: boolean;
  toStart: () => void;
  toEnd: () => void;
  /** To the first row out of sight that waits for a person; null if there is none. */
  toUnseen: (() => void) | null;
}

export function JumpButtons({ isAwayFromEnd, toStart, toEnd, toUnseen }: Jumps) {
  return (
    <div className={css.jump}>
      {toUnseen !== null && (
        <Button variant="default" size="compact-md" className={css.needs} onClick={toUnseen}>
          Show what waits for you
        </Button>
      )}
      {isAwayFromEnd && (
        <ActionIcon
          variant="default"
          size={32}
          aria-label="Jump to start"
          title="Jump to start (Home)"
          onClick={toStart}
        >
          <IconArrowUp size={16} />
        </ActionIcon>
      )}
      {isAwayFromEnd && (
        <Button
          title="Jump to end (End)"
          variant="default"
          size="compact-md"
          leftSection={<IconArrowDown size={16} />}
          onClick={toEnd}
        >
          Jump to end
        </Button>
      )}
    </div>
  );
}

interface EarlierProps {
  /** The entries before the first row that are not loaded. */
  left: number;
  isLoading: boolean;
  load: () => void;
}

/** The line above the first row, for what was not loaded yet. */
export function Earlier({ left, isLoading, load }: EarlierProps) {
  if (left === 0) return null;
  return (
    <div className={css.earlier}>
      {isLoading ? (
        <Loader size="xs" color="gray" aria-label="Reading earlier entries" />
      ) : (
        <Button variant="subtle" size="compact-sm" onClick={load}>
          Show earlier ({left.toLocaleString()} more)
        </Button>
      )}
    </div>
  );
}
