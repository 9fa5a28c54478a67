import type { Column, PendingRequest, StageId, StageView } from '@callboard/contract';
import { IconCheck } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ComponentType, memo, type RefObject, useEffect, useId, useLayoutEffect, useRef } from 'react';
import { useShallow } from 'zustand/shallow';
import { boardQuery } from '../../../data/queries.ts';
import { PriorityMark } from '../../../ui/priority-mark.tsx';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { type CardData, useRowCard } from '../api/use-card.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { slideFrom } from '../model/slide.ts';
import { CardMenu } from './card-menu.tsx';
import css from './row.module.css';
import { AdvanceButton, RunCheckButton, SeenButton, StartButton } from './row-actions.tsx';
import { RowLine } from './row-line.tsx';
import {
  Figures,
  LeftOut,
  MachineOfRow,
  OpenRequests,
  PausedMark,
  PhaseDots,
  Queued,
  SessionMarks,
} from './row-marks.tsx';

/** What the app puts into a row. */
export interface RowSlots {
  /** Answers the stage's request, if one line is enough to decide. */
  RequestSlot: ComponentType<{ stageId: StageId; describedBy: string; inHand: boolean }>;
  /** A person moved to the row of this request with a key. */
  arm: (request: PendingRequest) => void;
}

interface StageRowProps extends Pick<RowSlots, 'RequestSlot'> {
  stageId: StageId;
  /** Whether nothing can be commanded now. */
  isOff: boolean;
  /** The id of the element that explains how to move a row by keyboard. */
  dragHelp?: string | undefined;
}

/** What this tab knows of a row, in one subscription. */
const rowUi = ({ sending, picked, inHand, wanted }: ReturnType<typeof useBoardUi.getState>, stageId: StageId) => ({
  sending: sending[stageId],
  isPicked: picked.has(stageId),
  inHand: inHand === stageId,
  isWanted: wanted === stageId,
});

/** One stage on the board: its title, and beneath what it does now. */
export const StageRow = memo(function StageRow({ stageId, RequestSlot, isOff, dragHelp }: StageRowProps) {
  const card = useRowCard(stageId);
  const { sending, isPicked, inHand, isWanted } = useBoardUi(useShallow((ui) => rowUi(ui, stageId)));
  const id = useId();
  const root = useRef<HTMLElement>(null);
  useSlide(stageId, card?.stage.column, root);
  if (card === undefined) return null;
  const { stage, pending } = card;
  const describedBy = `${id}title ${id}words`;
  return (
    <article
      ref={root}
      className={css.row}
      data-column={stage.column}
      data-picked={isPicked}
      data-whole={card.text.isWhole}
      data-words={card.text.text === '' ? undefined : true}
      data-figures={stage.session !== null && pending === 0 ? true : undefined}
      aria-labelledby={`${id}title`}
      aria-busy={sending !== undefined}
    >
      <div className={css.top}>
        <span className={css.sign}>
          {isPicked ? <IconCheck size={14} role="img" aria-label="Selected" /> : <ProjectMark name={card.project} />}
        </span>
        <h3 className={css.title} id={`${id}title`}>
          <RowLink stage={stage} project={card.project} describedBy={dragHelp} isWanted={isWanted} />
        </h3>
        <TopMarks card={card} />
        <span className={css.more}>
          <CardMenu stage={stage} />
        </span>
      </div>
      <div className={css.line}>
        <div className={css.does} id={`${id}words`}>
          {sending === undefined ? <RowLine card={card} /> : <span role="status">{sending}...</span>}
        </div>
        <Figures stage={stage} isAsking={pending > 0} />
        <MachineOfRow stage={stage} />
        <SessionMarks stage={stage} />
        <span className={css.id}>
          <StageIdText id={stage.id} />
        </span>
        {stage.column === 'ready' && (
          <StartButton stage={stage} describedBy={`${id}title`} isSending={sending !== undefined} isOff={isOff} />
        )}
      </div>
      <LeftOut stage={stage} />
      {stage.column === 'needs-you' && (
        <div className={css.actions} data-stakes={card.stakes.length > 0 || undefined}>
          {card.stakes.length > 0 && <span className={css.stakes}>{card.stakes.join(', ')}</span>}
          {pending === 0 && <AdvanceButton stage={stage} describedBy={describedBy} />}
          {pending === 0 && <RunCheckButton stage={stage} describedBy={describedBy} />}
          {pending === 0 && <SeenButton stage={stage} describedBy={describedBy} />}
          <RequestSlot stageId={stage.id} describedBy={describedBy} inHand={inHand} />
        </div>
      )}
    </article>
  );
});

function TopMarks({ card }: { card: CardData }) {
  const { stage, phase, pending, needsSince } = card;
  const { session } = stage;
  return (
    <>
      <PriorityMark priority={stage.priority} />
      {phase !== null && <PhaseDots phase={phase} />}
      {(pending > 1 || (pending === 1 && stage.column !== 'needs-you')) && <OpenRequests count={pending} />}
      <PausedMark card={card} />
      {session !== null && <Queued session={session} />}
      <span className={css.time} data-needs={needsSince !== null}>
        {needsSince !== null && <span className="visually-hidden">waits for you since </span>}
        <TimeSince at={needsSince ?? stage.completedAt ?? session?.stateSince ?? stage.createdAt} />
      </span>
    </>
  );
}

interface RowLinkProps {
  stage: StageView;
  project: string;
  describedBy: string | undefined;
  isWanted: boolean;
}

/**
 * The title, which opens the stage. It has the row's focus, and keeps it when the row moves to another column. A plain
 * link, which `useRowLinks` follows: the router's own would draw each row again at every change of the address.
 */
function RowLink({ stage: { id, title }, project, describedBy, isWanted }: RowLinkProps) {
  const ref = useRef<HTMLAnchorElement>(null);
  useLayoutEffect(() => {
    const link = ref.current;
    const { takeFocus, leaveFocused } = useBoardUi.getState();
    if (document.activeElement === document.body && takeFocus(id)) link?.focus();
    return () => {
      if (document.activeElement === link) leaveFocused(id);
    };
  }, [id]);
  useEffect(() => {
    if (!isWanted) return;
    ref.current?.focus();
    useBoardUi.getState().reached();
  }, [isWanted]);
  return (
    <a
      ref={ref}
      data-card={id}
      href={`/stages/${id}`}
      title={`${title}\n${project} · ${id}`}
      draggable={false}
      aria-describedby={describedBy}
      onBlur={() => useBoardUi.getState().putDown(id)}
    >
      {title}
    </a>
  );
}

/** A row that has changed its column slides to its new place from where it stood. */
function useSlide(stageId: StageId, column: Column | undefined, root: RefObject<HTMLElement | null>): void {
  const cache = useQueryClient();
  useLayoutEffect(() => {
    const row = root.current;
    if (row === null || column === undefined) return;
    const from = useBoardUi.getState().occupy(stageId);
    if (from !== null) slideFrom(row, from);
    return () => {
      const view = cache.getQueryData(boardQuery.queryKey);
      const now = view?.stages.find(({ id }) => id === stageId)?.column;
      // A row that is scrolled out of sight is in its column still.
      if (now !== undefined && now !== column) useBoardUi.getState().vacate(stageId, row.getBoundingClientRect());
    };
  }, [stageId, column, root, cache]);
}
