import type { PendingRequest } from '@callboard/contract';
import { Button, Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { requestKey } from '../../../lib/request-text.ts';
import { useCoversPage, useLately, useTopLayer } from '../../../ui/dialog-layers.ts';
import { useShortcuts } from '../../../ui/shortcuts.ts';
import { useFolder, usePending, useStageTitle } from '../api/use-request.ts';
import { askFor, tell, turnToPage, useArming } from '../model/arming-store.ts';
import { useFieldText } from '../model/field-text.ts';
import { overlayQueue, useOverlayState } from '../model/overlay-queue.ts';
import { useTypingPause } from '../model/typing-pause.ts';
import { askWords } from '../words/request-words.ts';
import { CornerCard } from './corner-card.tsx';
import { DecisionPlace, LAYER } from './decision-place.tsx';
import css from './request.module.css';
import { RequestForm } from './request-form.tsx';
import { RulesDialog } from './rules-dialog.tsx';
import { TrustDialog } from './trust-dialog.tsx';

interface RequestOverlayProps {
  /** The stage whose page is open. That page shows its requests. */
  ownStageId: string | null;
  /** Pages that show requests themselves keep the overlay closed. */
  disabled: boolean;
}

/** Below every other dialog, which has the keys while it is open; above them if a person asked for the request. */
const Z_INDEX = 190;
const Z_INDEX_ABOVE = 300;
const NOTHING_ASIDE: ReadonlySet<string> = new Set();
/** Selects the overlay's content. */
const OVERLAY = `[${LAYER}="overlay"]`;

/**
 * The first waiting request, over any page; the next one follows when it is answered. If the page has its own form, or a
 * dialog is open, a card in the corner shows the request instead until a person opens it.
 */
export default function RequestOverlay({ ownStageId, disabled }: RequestOverlayProps) {
  const pending = usePending();
  const { aside, setAside } = useOverlayState();
  const waiting = disabled ? [] : overlayQueue(pending, NOTHING_ASIDE, ownStageId);
  const queue = waiting.filter((request) => !aside.has(requestKey(request)));
  const { isOpen, first, isAbove, isCovered, wasCovered } = useOpening({ pending, queue, waiting, ownStageId });
  // The last request stays visible while the overlay closes, even if the next one is already waiting.
  const [shown, setShown] = useState(first);
  if (isOpen && first !== shown) setShown(first);
  useCoversPage(isOpen, isAbove ? 'above' : 'overlay');
  useLookKey(isOpen ? null : (first ?? waiting[0] ?? null));
  const fullScreen = useMediaQuery('(max-width: 767px)') ?? false;
  const close = () => setAside(pending.map(requestKey));

  return (
    <>
      <Modal.Root
        classNames={{ content: css.modalContent }}
        opened={isOpen}
        onClose={close}
        closeOnClickOutside={false}
        closeOnEscape={!wasCovered}
        size={720}
        fullScreen={fullScreen}
        padding={0}
        zIndex={isAbove ? Z_INDEX_ABOVE : Z_INDEX}
        inert={isCovered}
      >
        <Modal.Overlay backgroundOpacity={0.4} />
        <Modal.Content>
          {shown !== undefined && (
            <DecisionPlace
              key={requestKey(shown)}
              about={requestKey(shown)}
              layer="overlay"
              className={css.overlayPlace}
            >
              <OverlayContent
                request={shown}
                waiting={waiting.length}
                aside={waiting.length - queue.length}
                isCovered={wasCovered}
                setAside={close}
              />
            </DecisionPlace>
          )}
        </Modal.Content>
      </Modal.Root>
      {!isOpen && first !== undefined && <CornerNotice request={first} more={queue.length - 1} own={ownStageId} />}
      <RulesDialog />
      <TrustDialog />
    </>
  );
}

interface Opening {
  pending: readonly PendingRequest[];
  /** `queue`: waiting requests that were not set aside; `waiting`: all of them. Both exclude the page's own. */
  queue: readonly PendingRequest[];
  waiting: readonly PendingRequest[];
  ownStageId: string | null;
}

/** Whether the page has its own form: an open request's, or a field with unsent text. */
function useHasForm(pending: readonly PendingRequest[], ownStageId: string | null): boolean {
  const hasText = useFieldText(OVERLAY);
  return hasText || pending.some(({ stageId }) => stageId === ownStageId);
}

/** Returns whether the overlay is open, and with which request. */
function useOpening({ pending, queue, waiting, ownStageId }: Opening) {
  const looked = useOverlayState((state) => state.looked);
  const paused = useTypingPause();
  const hasForm = useHasForm(pending, ownStageId);
  const top = useTopLayer();
  const isCovered = top === 'dialog';
  const wasCovered = useLately(isCovered);
  const [open, setOpen] = useState(false);
  useLayoutEffect(() => tell({ type: 'top', top: top === 'above' ? 'overlay' : top }), [top]);
  const asked = waiting.find((request) => requestKey(request) === looked);
  const first = asked ?? queue[0];
  const isSeen = useArming(
    ({ state: { forms, armed, isTurnedTo } }) =>
      isTurnedTo && forms.some(({ id, layer }) => layer === 'overlay' && id === armed),
  );
  const opensUnasked = open ? !hasForm || isSeen : !hasForm && paused && !wasCovered;
  const isOpen = first !== undefined && (asked !== undefined || opensUnasked);
  if (isOpen !== open) setOpen(isOpen);
  // A request that was opened over another dialog stays above it.
  const [above, setAbove] = useState<string | null>(null);
  if (asked === undefined && above !== null) setAbove(null);
  if (asked !== undefined && isCovered && above !== looked) setAbove(looked);
  const isAbove = above !== null && above === looked;
  return { isOpen, first, isAbove, isCovered: isCovered && !isAbove, wasCovered: wasCovered && !isAbove };
}

/** C turns to the waiting request, or to the page's own if there is no other. */
function useLookKey(request: PendingRequest | null): void {
  const look = useOverlayState((state) => state.look);
  useShortcuts({
    c: () => {
      if (request === null) return turnToPage();
      askFor(requestKey(request));
      look(requestKey(request));
    },
  });
}

/** The card in the corner, shown while the overlay is closed. */
function CornerNotice({ request, more, own }: { request: PendingRequest; more: number; own: string | null }) {
  const hasForm = useHasForm(usePending(), own);
  const isCovered = useTopLayer() !== 'page';
  if (!hasForm && !isCovered) return null;
  return <CornerCard request={request} more={more} isOverDialog={isCovered} />;
}

interface OverlayContentProps {
  request: PendingRequest;
  /** How many requests wait, including this one and those that were set aside. */
  waiting: number;
  aside: number;
  /** Whether another dialog is open over it, or was a moment ago. */
  isCovered: boolean;
  setAside: () => void;
}

function OverlayContent({ request, waiting, aside, isCovered, setAside }: OverlayContentProps) {
  const body = useRef<HTMLDivElement>(null);
  // Focuses the dialog but no button: a key meant for something else must not decide.
  useEffect(() => body.current?.focus({ preventScroll: true }), []);
  // Takes the focus back if a closing dialog could not restore it.
  useEffect(() => {
    const isOutside = !body.current?.closest('[role="dialog"]')?.contains(document.activeElement);
    if (!isCovered && isOutside) body.current?.focus({ preventScroll: true });
  }, [isCovered]);
  return (
    <>
      <div className={css.overlayHead}>
        <Modal.Title className={css.overlayTitle}>
          <RequestTitle request={request} />
        </Modal.Title>
        {waiting > 1 && (
          <span className={css.position}>
            1 of {waiting}
            {aside > 0 && `, ${aside} set aside`}
          </span>
        )}
        <Button variant="subtle" color="gray" size="compact-sm" mt={2} onClick={setAside} aria-keyshortcuts="Escape">
          {waiting - aside > 1 ? 'Set all aside' : 'Set aside'}
        </Button>
      </div>
      <Modal.Body className={css.modalBody} ref={body} tabIndex={-1} data-autofocus>
        <RequestForm request={request} />
        <TextHint />
      </Modal.Body>
    </>
  );
}

/** A longer stage title gets its own lines, and the last of them may be cut off. What Claude asks never is. */
const LONG = 80;

/** Who asks for what: "Login form wants to run a command". */
function RequestTitle({ request }: { request: PendingRequest }) {
  const stageTitle = useStageTitle(request.stageId);
  const words = askWords(request, useFolder(request.stageId));
  if (stageTitle.length <= LONG) return `${stageTitle} ${words}`;
  return (
    <>
      <span className={css.stageTitle} title={stageTitle}>
        {stageTitle}
      </span>{' '}
      <span className={css.asks}>{words}</span>
    </>
  );
}

/** Says why no key decides while a field behind the overlay holds unsent text. */
function TextHint() {
  const hasText = useFieldText(OVERLAY);
  return (
    <p className={css.held} role="status">
      {hasText && 'Keys are off while a text on the page is not sent. Press a button.'}
    </p>
  );
}
