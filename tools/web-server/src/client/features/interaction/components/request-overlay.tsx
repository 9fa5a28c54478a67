import type { PendingRequest } from '@callboard/contract';
import { Button, Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import { requestKey } from '../../../lib/request-words.ts';
import { useCoversPage, useLately, useTopLayer } from '../../../ui/behind-dialog.ts';
import { usePending } from '../api/use-request.ts';
import { type KeyHold, useKeyHold, useQuietKeys, useTypingPause } from '../model/arming.ts';
import { overlayQueue, useOverlayState } from '../model/overlay-queue.ts';
import css from './request.module.css';
import { RequestForm } from './request-form.tsx';
import { RequestTitle } from './request-title.tsx';
import { RulesDialog } from './rules-dialog.tsx';
import { KeysHeld } from './verdict-actions.tsx';

interface RequestOverlayProps {
  /** The stage whose page is open: its requests stand there. */
  ownStageId: string | null;
  /** Pages that show requests themselves keep the overlay closed. */
  disabled: boolean;
}

/** Below every other dialog, which has the keys as long as it is open. */
const Z_INDEX = 190;
const NOTHING_ASIDE: ReadonlySet<string> = new Set();

/**
 * The first request that waits, over whatever page is open. The next one follows when it is answered. It does not come
 * while another dialog is open, and gives way to one that is opened over it.
 */
export function RequestOverlay({ ownStageId, disabled }: RequestOverlayProps) {
  const pending = usePending();
  const { aside, setAside } = useOverlayState();
  const queue = disabled ? [] : overlayQueue(pending, aside, ownStageId);
  const waiting = overlayQueue(pending, NOTHING_ASIDE, ownStageId).length;
  const paused = useTypingPause();
  const isCovered = useTopLayer() === 'dialog';
  const wasCovered = useLately(isCovered);
  const [open, setOpen] = useState(false);
  const first = queue[0];
  const shouldBeOpen = first !== undefined && (open || (paused && !wasCovered));
  if (shouldBeOpen !== open) setOpen(shouldBeOpen);
  // While it closes, the last request stays in it, also where the next one is there already and has to wait.
  const [shown, setShown] = useState(first);
  if (shouldBeOpen && first !== shown) setShown(first);
  useCoversPage(open, 'overlay');
  const [hold, release] = useKeyHold(open, isCovered);
  const fullScreen = useMediaQuery('(max-width: 767px)') ?? false;
  const close = () => setAside(pending.map(requestKey));

  return (
    <>
      <Modal.Root
        classNames={{ content: css.modalContent }}
        opened={open}
        onClose={close}
        closeOnClickOutside={false}
        closeOnEscape={!wasCovered}
        size={720}
        fullScreen={fullScreen}
        padding={0}
        zIndex={Z_INDEX}
        inert={isCovered}
      >
        <Modal.Overlay backgroundOpacity={0.4} />
        <Modal.Content onPointerDownCapture={release}>
          {shown !== undefined && (
            <OverlayContent
              request={shown}
              waiting={waiting}
              aside={waiting - queue.length}
              opened={open}
              isCovered={wasCovered}
              hold={hold}
              setAside={close}
            />
          )}
        </Modal.Content>
      </Modal.Root>
      <RulesDialog />
    </>
  );
}

interface OverlayContentProps {
  request: PendingRequest;
  /** How many wait for an answer, this one and those that were set aside included. */
  waiting: number;
  aside: number;
  opened: boolean;
  /** Another dialog is open over it, or was until a moment ago. */
  isCovered: boolean;
  hold: KeyHold;
  setAside: () => void;
}

function OverlayContent({ request, waiting, aside, opened, isCovered, hold, setAside }: OverlayContentProps) {
  const key = requestKey(request);
  const isQuiet = useQuietKeys(opened);
  const body = useRef<HTMLDivElement>(null);
  // The focus goes into the dialog, but on no button: a key that was meant for something else must not decide.
  useEffect(() => {
    if (key !== '') body.current?.focus({ preventScroll: true });
  }, [key]);
  // Back into it from a dialog that could not give the focus back to where it was.
  useEffect(() => {
    const isOutside = !body.current?.closest('[role="dialog"]')?.contains(document.activeElement);
    if (!isCovered && isOutside) body.current?.focus({ preventScroll: true });
  }, [isCovered]);
  const isHeld = hold === 'held';
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
        <KeysHeld value={isHeld}>
          <RequestForm key={key} request={request} keys={() => !isCovered && !isHeld && isQuiet()} />
        </KeysHeld>
        {/* Stays when they are on again: nothing is to move under a finger that is about to press. */}
        {hold !== 'none' && (
          <p className={css.held} role="status">
            {isHeld
              ? 'You were writing, so keys do not decide. Tab, an arrow or a press in here turns them on.'
              : 'Keys decide again.'}
          </p>
        )}
      </Modal.Body>
    </>
  );
}
