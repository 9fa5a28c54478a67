import type { PendingRequest } from '@callboard/contract';
import { Button, Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { requestKey } from '../../../lib/request-words.ts';
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
  /** The stage whose page is open: its requests stand there. */
  ownStageId: string | null;
  /** Pages that show requests themselves keep the overlay closed. */
  disabled: boolean;
}

/** Below every other dialog, which has the keys as long as it is open; above them where somebody asked for it. */
const Z_INDEX = 190;
const Z_INDEX_ABOVE = 300;
const NOTHING_ASIDE: ReadonlySet<string> = new Set();
/** What stands in the overlay. */
const OVERLAY = `[${LAYER}="overlay"]`;

/**
 * The first request that waits, over whatever page is open; the next one follows when it is answered. Where the page
 * has a form of its own, or a dialog is open, it is a card in the corner instead, until somebody turns to it.
 */
export default function RequestOverlay({ ownStageId, disabled }: RequestOverlayProps) {
  const pending = usePending();
  const { aside, setAside } = useOverlayState();
  const waiting = disabled ? [] : overlayQueue(pending, NOTHING_ASIDE, ownStageId);
  const queue = waiting.filter((request) => !aside.has(requestKey(request)));
  const { isOpen, first, isAbove, isCovered, wasCovered } = useOpening({ pending, queue, waiting, ownStageId });
  // While it closes, the last request stays in it, also where the next one is there already and has to wait.
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
      {!isOpen && first !== undefined && <WhereItIsNoModal request={first} more={queue.length - 1} own={ownStageId} />}
      <RulesDialog />
      <TrustDialog />
    </>
  );
}

interface Opening {
  pending: readonly PendingRequest[];
  /** What waits and was not set aside, and what waits at all; but the page's own. */
  queue: readonly PendingRequest[];
  waiting: readonly PendingRequest[];
  ownStageId: string | null;
}

/** Whether the page has a form of its own: an open request's, or a field with text that was not sent. */
function useHasForm(pending: readonly PendingRequest[], ownStageId: string | null): boolean {
  const hasText = useFieldText(OVERLAY);
  return hasText || pending.some(({ stageId }) => stageId === ownStageId);
}

/** Whether the overlay is open, and with what. */
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
  const comesByItself = open ? !hasForm || isSeen : !hasForm && paused && !wasCovered;
  const isOpen = first !== undefined && (asked !== undefined || comesByItself);
  if (isOpen !== open) setOpen(isOpen);
  // Asked for over another dialog, it stays above that one.
  const [above, setAbove] = useState<string | null>(null);
  if (asked === undefined && above !== null) setAbove(null);
  if (asked !== undefined && isCovered && above !== looked) setAbove(looked);
  const isAbove = above !== null && above === looked;
  return { isOpen, first, isAbove, isCovered: isCovered && !isAbove, wasCovered: wasCovered && !isAbove };
}

/** C turns to the request that waits; where there is none but the page's own, to that one. */
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

/** The card in the corner. */
function WhereItIsNoModal({ request, more, own }: { request: PendingRequest; more: number; own: string | null }) {
  const hasForm = useHasForm(usePending(), own);
  const isCovered = useTopLayer() !== 'page';
  if (!hasForm && !isCovered) return null;
  return <CornerCard request={request} more={more} isOverDialog={isCovered} />;
}

interface OverlayContentProps {
  request: PendingRequest;
  /** How many wait for an answer, this one and those that were set aside included. */
  waiting: number;
  aside: number;
  /** Another dialog is open over it, or was until a moment ago. */
  isCovered: boolean;
  setAside: () => void;
}

function OverlayContent({ request, waiting, aside, isCovered, setAside }: OverlayContentProps) {
  const body = useRef<HTMLDivElement>(null);
  // The focus goes into the dialog, but on no button: a key that was meant for something else must not decide.
  useEffect(() => body.current?.focus({ preventScroll: true }), []);
  // Back into it from a dialog that could not give the focus back to where it was.
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

/** Beyond this the stage's title has lines of its own, and the last ones may be cut off: what is asked never is. */
const LONG = 80;

/** "Login form wants to run a command": who asks, and for what. */
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

/** Says why no key decides while somebody has begun a text behind it. */
function TextHint() {
  const hasText = useFieldText(OVERLAY);
  return (
    <p className={css.held} role="status">
      {hasText && 'Keys are off while a text on the page is not sent. Press a button.'}
    </p>
  );
}
