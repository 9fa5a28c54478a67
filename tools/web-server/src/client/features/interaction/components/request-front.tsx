import type { PendingRequest } from '@callboard/contract';
import { Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import { requestKey } from '../../../lib/request-text.ts';
import { useKeyboardInset } from '../../../ui/use-keyboard-inset.ts';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import { useFieldText } from '../model/field-text.ts';
import { askTitle } from '../words/request-words.ts';
import { DecisionSlot } from './decision-place.tsx';
import { DelayedAnswers } from './held-answers.tsx';
import css from './request.module.css';
import { RequestForm } from './request-form.tsx';
import { RequestHead } from './request-head.tsx';
import { FRONT, FRONT_SELECTOR } from './use-focus-given-back.ts';
import { ROOM } from './use-free-height.ts';

export interface FrontProps {
  request: PendingRequest;
  /** Where it stands among those that wait. */
  position: string;
  /** All that wait and were not set aside. */
  all: readonly PendingRequest[];
  /** Whether another dialog is open over it, or was a moment ago. */
  isCovered: boolean;
}

interface DialogProps extends Omit<FrontProps, 'request'> {
  request: PendingRequest | undefined;
  isOpen: boolean;
  /** Whether a person opened it over another dialog. */
  isAbove: boolean;
  isInert: boolean;
  close: () => void;
}

/** Below every other dialog, which has the keys while it is open; above them if a person asked for the request. */
const Z_INDEX = 190;
const Z_INDEX_ABOVE = 300;

/** The request in a dialog over the page. */
export function RequestDialog({ request, isOpen, isAbove, isInert, close, ...front }: DialogProps) {
  const fullScreen = useMediaQuery('(max-width: 767px)') ?? false;
  return (
    <Modal.Root
      classNames={{ content: css.modalContent }}
      opened={isOpen}
      onClose={close}
      closeOnClickOutside={false}
      returnFocus={false}
      closeOnEscape={!front.isCovered}
      size={720}
      yOffset="5dvh"
      fullScreen={fullScreen}
      padding={0}
      zIndex={isAbove ? Z_INDEX_ABOVE : Z_INDEX}
      inert={isInert}
    >
      <Modal.Overlay backgroundOpacity={0.4} />
      {request !== undefined && <Named {...front} request={request} />}
    </Modal.Root>
  );
}

function Named({ request, ...front }: FrontProps) {
  const title = askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId));
  const key = requestKey(request);
  return (
    <Modal.Content aria-label={title} style={{ paddingBottom: useKeyboardInset() }} {...{ [FRONT]: '', [ROOM]: true }}>
      <DecisionSlot key={key} about={key} layer="overlay" className={css.frontPlace}>
        <Content {...front} request={request} />
      </DecisionSlot>
    </Modal.Content>
  );
}

function Content({ request, position, all, isCovered }: FrontProps) {
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
      <DelayedAnswers />
      <RequestHead request={request} position={position} all={all} />
      <Modal.Body className={css.modalBody} ref={body} tabIndex={-1} data-autofocus>
        <RequestForm request={request} />
        <TextHint />
      </Modal.Body>
    </>
  );
}

/** Says why no key decides while a field of the page holds unsent text. */
export function TextHint() {
  const hasText = useFieldText(FRONT_SELECTOR);
  return (
    <p className={css.held} role="status">
      {hasText && 'Keys are off while a text on the page is not sent. Press a button.'}
    </p>
  );
}
