import type { PendingRequest } from '@callboard/contract';
import { useId } from 'react';
import { requestKey } from '../../../lib/request-text.ts';
import { KindIcon } from '../../../ui/kind-icon.tsx';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useSetLater } from '../api/use-me.ts';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import { askFor } from '../model/arming-store.ts';
import { useOverlayState } from '../model/overlay-queue.ts';
import { askSummary } from '../words/request-words.ts';
import css from './corner-card.module.css';

interface CornerCardProps {
  request: PendingRequest;
  /** How many more requests wait. */
  more: number;
  /** What it lies over: a dialog, a page with a form of its own, or any other page. */
  over: 'dialog' | 'form' | 'page';
}

/** Another stage's request, shown while the page is used for something else. A person can open it from here, but not decide it. */
export function CornerCard({ request, more, over }: CornerCardProps) {
  const id = useId();
  const title = useStageTitle(request.stageId);
  const folder = useFolder(request.stageId);
  const check = useOverlayState((state) => state.check);
  const setLater = useSetLater();
  const open = () => {
    askFor(requestKey(request));
    check(requestKey(request));
  };
  return (
    <section className={css.card} data-over={over} aria-label="Request">
      <div className={css.words} id={id}>
        <div className={css.top}>
          <span className={css.icon}>
            <KindIcon kind={request.kind} toolName={request.toolName} size={14} />
          </span>
          <span className={css.title} title={title}>
            {title}
          </span>
          <span className={css.id}>
            <StageIdText id={request.stageId} />
          </span>
          <span className={css.time}>
            <TimeSince at={request.createdAt} />
          </span>
          {more > 0 && <span className={css.more}>{more} more</span>}
        </div>
        <div className={css.ask}>{askSummary(request, folder)}</div>
      </div>
      <div className={css.actions}>
        <button
          type="button"
          className={css.look}
          aria-describedby={id}
          aria-keyshortcuts="c"
          // Keeps the focus in the text field, so that it can return there.
          onMouseDown={(event) => event.preventDefault()}
          onClick={open}
        >
          <kbd aria-hidden>C</kbd>
          <span aria-hidden className={css.to}>
            {' '}
            to look
          </span>
          <span className={css.verb}>Look</span>
        </button>
        {over === 'page' && (
          <button
            type="button"
            className={css.look}
            aria-describedby={id}
            onClick={() => setLater.mutate({ requests: [request], later: { until: null } })}
          >
            Later
          </button>
        )}
      </div>
    </section>
  );
}
