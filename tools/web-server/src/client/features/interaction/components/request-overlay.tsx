import type { PendingRequest } from '@callboard/contract';
import { Button, Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import { askTitle, requestKey } from '../../../lib/request-words.ts';
import { useCoversPage } from '../../../ui/behind-dialog.ts';
import { DialogHead } from '../../../ui/dialog.tsx';
import { useFolder, usePending, useStageTitle } from '../api/use-request.ts';
import { useQuietKeys, useTypingPause } from '../model/arming.ts';
import { overlayQueue, useOverlayState } from '../model/overlay-queue.ts';
import { useRulesDialog } from '../model/rules-dialog.ts';
import css from './request.module.css';
import { RequestForm } from './request-form.tsx';
import { RulesDialog } from './rules-dialog.tsx';

interface RequestOverlayProps {
  /** The stage whose page is open: its requests stand there. */
  ownStageId: string | null;
  /** Pages that show requests themselves keep the overlay closed. */
  disabled: boolean;
}

/** The first request that waits, over whatever page is open. The next one follows when it is answered. */
export function RequestOverlay({ ownStageId, disabled }: RequestOverlayProps) {
  const pending = usePending();
  const { aside, setAside } = useOverlayState();
  const queue = disabled ? [] : overlayQueue(pending, aside, ownStageId);
  const paused = useTypingPause();
  const [open, setOpen] = useState(false);
  const first = queue[0];
  const shouldBeOpen = first !== undefined && (open || paused);
  if (shouldBeOpen !== open) setOpen(shouldBeOpen);
  // While it closes, the last request stays in it.
  const [shown, setShown] = useState(first);
  if (first !== undefined && first !== shown) setShown(first);
  useCoversPage(open);
  const fullScreen = useMediaQuery('(max-width: 767px)') ?? false;
  const isCovered = useRulesDialog((state) => state.projectId !== null);
  const close = () => setAside(pending.map(requestKey));

  return (
    <>
      <Modal.Root
        classNames={{ content: css.modalContent }}
        opened={open}
        onClose={close}
        closeOnClickOutside={false}
        closeOnEscape={!isCovered}
        size={720}
        fullScreen={fullScreen}
        padding={0}
      >
        <Modal.Overlay backgroundOpacity={0.4} />
        <Modal.Content>
          {shown !== undefined && (
            <OverlayContent request={shown} waiting={queue.length} opened={open} setAside={close} />
          )}
        </Modal.Content>
      </Modal.Root>
      <RulesDialog />
    </>
  );
}

interface OverlayContentProps {
  request: PendingRequest;
  waiting: number;
  opened: boolean;
  setAside: () => void;
}

function OverlayContent({ request, waiting, opened, setAside }: OverlayContentProps) {
  const title = askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId));
  const key = requestKey(request);
  const isQuiet = useQuietKeys(opened);
  const body = useRef<HTMLDivElement>(null);
  // The focus goes into the dialog, but on no button: a key that was meant for something else must not decide.
  useEffect(() => {
    if (key !== '') body.current?.focus({ preventScroll: true });
  }, [key]);
  return (
    <>
      <DialogHead title={title}>
        {waiting > 1 && <span className={css.position}>1 of {waiting}</span>}
        <Button variant="subtle" color="gray" size="compact-sm" mt={2} onClick={setAside} aria-keyshortcuts="Escape">
          Set aside
        </Button>
      </DialogHead>
      <Modal.Body className={css.modalBody} ref={body} tabIndex={-1} data-autofocus>
        <RequestForm key={key} request={request} keys={isQuiet} />
      </Modal.Body>
    </>
  );
}
