import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef } from 'react';
import { useSidePane } from '../model/side-pane.ts';
import css from './stage-panes.module.css';

interface StagePanesProps {
  /** The transcript, with the message box below. */
  main: ReactNode;
  /** What stands beside it; null if nothing does. */
  side: ReactNode | null;
}

const STEP = 2;

/** The transcript, and beside it what is looked at meanwhile. The border between them moves, and stays there. */
export function StagePanes({ main, side }: StagePanesProps) {
  const share = useSidePane((state) => state.share);
  const box = useRef<HTMLDivElement>(null);
  const { divide } = useSidePane.getState();
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowLeft') divide(share - STEP);
    else if (event.key === 'ArrowRight') divide(share + STEP);
    else return;
    event.preventDefault();
  };
  const onPointerMove = (event: PointerEvent) => {
    const bounds = box.current?.getBoundingClientRect();
    if (bounds === undefined || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    divide(((event.clientX - bounds.left) / bounds.width) * 100);
  };
  return (
    <div className={css.panes} ref={box}>
      <div className={css.main} style={side === null ? undefined : { flexBasis: `${share}%` }}>
        {main}
      </div>
      {side !== null && (
        <>
          {/* biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved */}
          <div
            role="separator"
            aria-label="Width of the transcript"
            aria-orientation="vertical"
            aria-valuenow={Math.round(share)}
            tabIndex={0}
            className={css.border}
            onKeyDown={onKeyDown}
            onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
            onPointerMove={onPointerMove}
          />
          <div className={css.side}>{side}</div>
        </>
      )}
    </div>
  );
}
