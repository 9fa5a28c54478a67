import { type Column, checkAtGate, type PendingRequest, type StageId, type StageView } from '@callboard/contract';
import { Button, Menu } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import {
  type ComponentType,
  type MouseEvent,
  memo,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { useShallow } from 'zustand/shallow';
import { useBoardUi } from '../../data/board-ui.ts';
import { boardQuery } from '../../data/queries.ts';
import { StageMenuItems } from '../../data/stage-actions.tsx';
import { useAcknowledgeDenial, useAdvanceStage, useRunCheck } from '../../data/stage-commands.ts';
import { withBase } from '../../lib/base-path.ts';
import { canAcknowledgeDenial, phaseNext } from '../../lib/stage-status.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { PriorityMark, ProjectMark, StageIdText } from '../../ui/marks.tsx';
import { TimeSince } from '../../ui/text.tsx';
import { startFromCard } from './board-keys.ts';
import css from './card.module.css';
import {
  CardLine,
  FieldsOfCard,
  Figures,
  LeftOut,
  MachineOfCard,
  OpenRequests,
  PausedMark,
  PhaseDots,
  Queued,
  SessionMarks,
} from './card-line.tsx';
import { type CardData, useBoardCard } from './cards.ts';

/** Made once, of one path: each card has them. */
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

/** The actions on a stage from its card. The menu is made when it is first opened: there are hundreds of cards. */
function CardMenu({ stage }: { stage: StageView }) {
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
  const canCommand = useCanCommand();
  return (
    <Menu opened={isOpen} onChange={setIsOpen}>
      <Menu.Target>
        <button type="button" {...button}>
          {DOTS}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <StageMenuItems stage={stage} canCommand={canCommand} />
      </Menu.Dropdown>
    </Menu>
  );
}

interface ActionProps {
  stage: StageView;
  describedBy: string;
}

interface StartButtonProps extends ActionProps {
  isSending: boolean;
  isOff: boolean;
}

/** A plain button without a state of its own: hundreds of cards have one. */
const StartButton = ({ stage, describedBy, isSending, isOff }: StartButtonProps) => (
  <button
    type="button"
    className={css.start}
    title="Start (S)"
    aria-describedby={describedBy}
    aria-busy={isSending}
    disabled={isOff || isSending}
    onClick={() => void startFromCard(stage)}
  >
    Start
  </button>
);

interface CardCommandProps {
  describedBy: string;
  variant?: 'default';
  command: { isPending: boolean; mutate: (stageId: StageView['id']) => void };
  stageId: StageView['id'];
  children: ReactNode;
}

function CardCommand({ describedBy, variant, command, stageId, children }: CardCommandProps) {
  const off = !useCanCommand();
  return (
    <Button
      size="compact-sm"
      variant={variant}
      aria-describedby={describedBy}
      disabled={off}
      loading={command.isPending}
      onClick={() => command.mutate(stageId)}
    >
      {children}
    </Button>
  );
}

/** Acknowledges that Claude Code denied the last call, which moves the stage to Review. */
function SeenButton({ stage, describedBy }: ActionProps) {
  const command = useAcknowledgeDenial(stage.title);
  if (!canAcknowledgeDenial(stage)) return null;
  return (
    <CardCommand variant="default" stageId={stage.id} describedBy={describedBy} command={command}>
      Seen
    </CardCommand>
  );
}

/** Starts the phase that waits for a person. */
function AdvanceButton({ stage, describedBy }: ActionProps) {
  const command = useAdvanceStage(stage.title);
  const isHuman = stage.session?.atGate === true && checkAtGate(stage) === null;
  if (!isHuman || stage.session?.alarm !== null || stage.session.terminal !== null) return null;
  return (
    <CardCommand stageId={stage.id} describedBy={describedBy} command={command}>
      Start {phaseNext(stage)}
    </CardCommand>
  );
}

/** Runs a check again that waits for a person. What else can be done is on the stage's page. */
function RunCheckButton({ stage, describedBy }: ActionProps) {
  const command = useRunCheck(stage.title);
  if (checkAtGate(stage) === null || stage.session?.alarm !== null || stage.session.terminal !== null) return null;
  return (
    <CardCommand variant="default" stageId={stage.id} describedBy={describedBy} command={command}>
      Run again
    </CardCommand>
  );
}

/** What the app puts into a card. */
export interface CardSlots {
  /** Answers the stage's request, if one line is enough to decide. */
  RequestSlot: ComponentType<{ stageId: StageId; describedBy: string; inHand: boolean }>;
  /** A person moved to the card of this request with a key. */
  arm: (request: PendingRequest) => void;
}

interface StageCardProps extends Pick<CardSlots, 'RequestSlot'> {
  stageId: StageId;
  /** Whether nothing can be commanded now. */
  isOff: boolean;
  /** The id of the element that explains how to move a card by keyboard. */
  dragHelp?: string | undefined;
}

/** What this tab knows of a card, in one subscription. */
const cardUi = ({ sending, picked, inHand, wanted }: ReturnType<typeof useBoardUi.getState>, stageId: StageId) => ({
  sending: sending[stageId],
  isPicked: picked.has(stageId),
  inHand: inHand === stageId,
  isWanted: wanted === stageId,
});

/** Opens the menu of the card, in place of the browser's. A finger that stays on a card lifts it. */
function openMenu(event: MouseEvent<HTMLElement, PointerEvent>): void {
  const button = event.currentTarget.querySelector<HTMLElement>('[aria-haspopup="menu"]');
  if (button === null || event.nativeEvent.pointerType === 'touch') return;
  event.preventDefault();
  if (button.getAttribute('aria-expanded') !== 'true') button.click();
}

/** One stage on the board: its title, and beneath what it does now. */
export const StageCard = memo(function StageCard({ stageId, RequestSlot, isOff, dragHelp }: StageCardProps) {
  const card = useBoardCard(stageId);
  const { sending, isPicked, inHand, isWanted } = useBoardUi(useShallow((ui) => cardUi(ui, stageId)));
  const id = useId();
  const root = useRef<HTMLElement>(null);
  useSlide(stageId, card?.stage.column, root);
  if (card === undefined) return null;
  const { stage, pending } = card;
  const describedBy = `${id}title ${id}words`;
  return (
    <article
      ref={root}
      className={css.card}
      data-column={stage.column}
      data-picked={isPicked}
      data-whole={card.text.isWhole}
      data-figures={stage.session !== null && pending === 0 ? true : undefined}
      aria-labelledby={`${id}title`}
      aria-busy={sending !== undefined}
      onContextMenu={openMenu}
    >
      <div className={css.top}>
        <span className={css.sign}>
          {isPicked ? <IconCheck size={14} role="img" aria-label="Selected" /> : <ProjectMark name={card.project} />}
        </span>
        <div className={css.heading}>
          <span className={css.marks}>
            <TopMarks card={card} />
          </span>
          <h3 className={css.title} id={`${id}title`}>
            <CardLink stage={stage} project={card.project} describedBy={dragHelp} isWanted={isWanted} />
          </h3>
        </div>
        <span className={css.more}>
          <CardMenu stage={stage} />
        </span>
      </div>
      <div className={css.line}>
        <div className={css.does} id={`${id}words`}>
          {sending === undefined ? <CardLine card={card} /> : <span role="status">{sending}...</span>}
        </div>
        <Figures stage={stage} isAsking={pending > 0} />
        <MachineOfCard stage={stage} />
        <FieldsOfCard stage={stage} />
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

interface CardLinkProps {
  stage: StageView;
  project: string;
  describedBy: string | undefined;
  isWanted: boolean;
}

/**
 * The title, which opens the stage. It has the card's focus, and keeps it when the card moves to another column. A plain
 * link, which `useCardLinks` follows: the router's own would draw each card again at every change of the address.
 */
function CardLink({ stage: { id, title }, project, describedBy, isWanted }: CardLinkProps) {
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
      href={withBase(`/stages/${id}`)}
      title={`${title}\n${project} · ${id}`}
      draggable={false}
      aria-describedby={describedBy}
      onBlur={() => useBoardUi.getState().putDown(id)}
    >
      {title}
    </a>
  );
}

/** A card that has changed its column slides to its new place from where it stood. */
function useSlide(stageId: StageId, column: Column | undefined, root: RefObject<HTMLElement | null>): void {
  const cache = useQueryClient();
  useLayoutEffect(() => {
    const card = root.current;
    if (card === null || column === undefined) return;
    const from = useBoardUi.getState().occupy(stageId);
    if (from !== null) slideFrom(card, from);
    return () => {
      const view = cache.getQueryData(boardQuery.queryKey);
      const now = view?.stages.find(({ id }) => id === stageId)?.column;
      // A card that is scrolled out of sight is in its column still.
      if (now !== undefined && now !== column) useBoardUi.getState().vacate(stageId, card.getBoundingClientRect());
    };
  }, [stageId, column, root, cache]);
}

type Location = Pick<DOMRect, 'left' | 'top' | 'width' | 'height'>;

const SLIDE_MS = 150;

/**
 * Slides a picture of the element from where it stood to where it is. The element itself stays hidden meanwhile: its
 * column would cut it off. Does nothing if the person wants less motion.
 */
function slideFrom(element: HTMLElement, from: Location): void {
  const isStill = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  if (isStill || typeof element.animate !== 'function') return;
  const to = element.getBoundingClientRect();
  const [x, y] = [from.left - to.left, from.top - to.top];
  if (to.width === 0 || from.width === 0 || Math.hypot(x, y) < 1) return;
  const picture = element.cloneNode(true);
  if (!(picture instanceof HTMLElement)) return;
  picture.setAttribute('aria-hidden', 'true');
  picture.inert = true;
  for (const named of [picture, ...picture.querySelectorAll('[id], [data-card]')]) {
    named.removeAttribute('id');
    named.removeAttribute('data-card');
  }
  Object.assign(picture.style, {
    position: 'fixed',
    left: `${to.left}px`,
    top: `${to.top}px`,
    width: `${to.width}px`,
    zIndex: '5',
    pointerEvents: 'none',
    background: 'var(--surface)',
  });
  document.body.append(picture);
  element.style.opacity = '0'; // it keeps the focus
  const timing = { duration: SLIDE_MS, easing: 'ease-out' };
  const slide = picture.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: 'none' }], timing);
  const end = () => {
    picture.remove();
    element.style.opacity = '';
  };
  slide.finished.then(end, end);
}
