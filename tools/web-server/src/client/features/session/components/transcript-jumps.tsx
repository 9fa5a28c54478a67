import { ActionIcon, Button, Loader } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { memo, useLayoutEffect, useRef, useState } from 'react';
import css from './transcript.module.css';

export interface Jumps {
  /** Whether a form that waits for an answer is in sight. */
  isAsked: boolean;
  isAwayFromEnd: boolean;
  toStart: () => void;
  toEnd: () => void;
  /** To the first row out of sight that waits for a person; null if there is none. */
  toUnseen: (() => void) | null;
}

/** Drawn anew only when another button appears or goes: the list around it is drawn at each scroll. */
export function JumpButtons(jumps: Jumps) {
  const latest = useRef(jumps);
  useLayoutEffect(() => {
    latest.current = jumps;
  });
  const [to] = useState(() => ({
    start: () => latest.current.toStart(),
    end: () => latest.current.toEnd(),
    unseen: () => latest.current.toUnseen?.(),
  }));
  const { isAwayFromEnd, isAsked } = jumps;
  return <Buttons isAwayFromEnd={isAwayFromEnd} isAsked={isAsked} to={to} hasUnseen={jumps.toUnseen !== null} />;
}

interface ButtonsProps {
  isAwayFromEnd: boolean;
  isAsked: boolean;
  hasUnseen: boolean;
  to: { start: () => void; end: () => void; unseen: () => void };
}

const Buttons = memo(function Buttons({ isAwayFromEnd, isAsked, hasUnseen, to }: ButtonsProps) {
  return (
    <div className={css.jump} data-asked={isAsked || undefined}>
      {hasUnseen && (
        <Button variant="default" size="compact-md" className={css.needs} onClick={to.unseen}>
          Show what waits for you
        </Button>
      )}
      {isAwayFromEnd && (
        <ActionIcon
          variant="default"
          size={32}
          aria-label="Jump to start"
          title="Jump to start (Home)"
          onClick={to.start}
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
          onClick={to.end}
        >
          Jump to end
        </Button>
      )}
    </div>
  );
});

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
        <Loader size="xs" color="gray" role="img" aria-label="Reading earlier entries" />
      ) : (
        <Button variant="subtle" size="compact-sm" onClick={load}>
          Show earlier ({left.toLocaleString()} more)
        </Button>
      )}
    </div>
  );
}
