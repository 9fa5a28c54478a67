import type { PendingRequest, Presentation } from '@callboard/contract';
import { useLayoutEffect, useState } from 'react';
import { requestKey } from '../../../lib/request-text.ts';
import { useCoversPage, useRecentlyShown, useTopLayer } from '../../../ui/dialog-layers.ts';
import { useShortcuts } from '../../../ui/shortcuts.ts';
import { useNotDelayedByMe } from '../api/use-held.ts';
import { useAside, useMe, useSetLater } from '../api/use-me.ts';
import { askFor, notify, turnToPage, useArming } from '../model/arming-store.ts';
import { useFieldText } from '../model/field-text.ts';
import { overlayQueue, positionText, useOverlayState } from '../model/overlay-queue.ts';
import { useTypingPause } from '../model/typing-pause.ts';
import { CornerCard } from './corner-card.tsx';
import { DelayedAnswers } from './held-answers.tsx';
import { RequestDialog } from './request-front.tsx';
import { RequestPanel } from './request-panel.tsx';
import { RulesDialog } from './rules-dialog.tsx';
import { TrustDialog } from './trust-dialog.tsx';
import { FRONT_SELECTOR, OVERLAY, useFocusGivenBack } from './use-focus-given-back.ts';

interface RequestOverlayProps {
  /** The stage whose page is open. That page shows its requests. */
  ownStageId: string | null;
  /** Pages that show requests themselves keep the overlay closed. */
  disabled: boolean;
}

const NOTHING_ASIDE: ReadonlySet<string> = new Set();

/**
 * The first waiting request, on any page, in the way that the person chose: over the page, beside it, or only as a card in
 * its corner. The next one follows when it is answered. If the page has its own form, or a dialog is open, the card shows
 * the request until a person opens it.
 */
export default function RequestOverlay({ ownStageId, disabled }: RequestOverlayProps) {
  const pending = useNotDelayedByMe();
  const { presentation } = useMe();
  const aside = useAside();
  const setLater = useSetLater();
  const waiting = disabled ? [] : overlayQueue(pending, NOTHING_ASIDE, ownStageId);
  const queue = waiting.filter((request) => !aside.has(requestKey(request)));
  const opening = useOpening({ pending, queue, waiting, ownStageId, presentation });
  const { isOpen, comesUnasked, shut, first, isAbove, isCovered, wasCovered } = opening;
  const isPanel = presentation === 'panel' && !isAbove;
  // The last request stays visible while the overlay closes, even if the next one is already waiting.
  const [shown, setShown] = useState(first);
  if (isOpen && first !== shown) setShown(first);
  useCoversPage(isOpen && !isPanel, isAbove ? 'above' : 'overlay');
  useFocusGivenBack(isOpen && first !== undefined ? (isPanel ? requestKey(first) : OVERLAY) : null);
  useCheckKey(isOpen ? null : (first ?? waiting[0] ?? null), isOpen && isPanel ? first : undefined);
  const { stopChecking } = useOverlayState.getState();
  const close = () => {
    stopChecking();
    // Where it would not have come unasked, its card in the corner is back; elsewhere it would come again at once.
    if (!comesUnasked) shut();
    else if (queue.length > 0) setLater.mutate({ requests: queue, later: { until: null } });
  };
  const position = positionText(waiting.length, waiting.length - queue.length);
  const front = { position, all: queue, isCovered: wasCovered };
  return (
    <>
      <RequestDialog
        {...front}
        request={shown}
        isOpen={isOpen && !isPanel}
        isAbove={isAbove}
        isInert={isCovered}
        close={close}
      />
      {isOpen && isPanel && first !== undefined && <RequestPanel {...front} request={first} isCovered={isCovered} />}
      {!isOpen && first !== undefined && (
        <CornerNotice request={first} all={queue} own={ownStageId} isQuiet={presentation === 'quiet'} />
      )}
      {!isOpen && !disabled && <DelayedAnswers floats except={ownStageId} />}
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
  presentation: Presentation;
}

/** Whether the page has its own form: an open request's, or a field with unsent text. */
function useHasForm(pending: readonly PendingRequest[], ownStageId: string | null) {
  const hasText = useFieldText(FRONT_SELECTOR);
  const hasOwn = pending.some(({ stageId }) => stageId === ownStageId);
  return { hasOwn, hasForm: hasText || hasOwn };
}

/** Returns whether the request is shown in front of or beside the page, and which one. */
function useOpening({ pending, queue, waiting, ownStageId, presentation }: Opening) {
  const checked = useOverlayState((state) => state.looked);
  const paused = useTypingPause();
  const { hasForm, hasOwn } = useHasForm(pending, ownStageId);
  const top = useTopLayer();
  const isCovered = top === 'dialog';
  const wasCovered = useRecentlyShown(isCovered);
  const [open, setOpen] = useState(false);
  useLayoutEffect(() => notify({ type: 'top', top: top === 'above' ? 'overlay' : top }), [top]);
  const asked = waiting.find((request) => requestKey(request) === checked);
  const first = asked ?? queue[0];
  const key = first === undefined ? null : requestKey(first);
  const isSeen = useArming(
    ({ state: { forms, armed, isTurnedTo } }) =>
      isTurnedTo && forms.some((form) => form.key === key && form.id === armed),
  );
  // The panel is not in the way of somebody who writes; but it does not come while they do.
  const staysFor = presentation === 'panel' ? !hasOwn : !hasForm;
  const isFree = open ? staysFor || isSeen : !hasForm && paused && !wasCovered;
  const isOpen = first !== undefined && (asked !== undefined || (presentation !== 'quiet' && isFree));
  if (isOpen !== open) setOpen(isOpen);
  // A request that was opened over another dialog stays above it.
  const [above, setAbove] = useState<string | null>(null);
  if (asked === undefined && above !== null) setAbove(null);
  if (asked !== undefined && isCovered && above !== checked) setAbove(checked);
  const isAbove = above !== null && above === checked;
  const comesUnasked = presentation !== 'quiet' && staysFor && !isCovered;
  const isUnder = isCovered && !isAbove;
  return {
    isOpen,
    comesUnasked,
    shut: () => setOpen(false),
    first,
    isAbove,
    isCovered: isUnder,
    wasCovered: wasCovered && !isAbove,
  };
}

/** C turns to the waiting request: opens it, or arms it in the panel. Without one, it turns to the page's own. */
function useCheckKey(request: PendingRequest | null, inPanel: PendingRequest | undefined): void {
  const check = useOverlayState((state) => state.check);
  useShortcuts({
    c: () => {
      if (inPanel !== undefined) askFor(requestKey(inPanel));
      else if (request === null) return turnToPage();
      else {
        askFor(requestKey(request));
        check(requestKey(request));
      }
      return true;
    },
  });
}

interface CornerNoticeProps {
  request: PendingRequest;
  all: readonly PendingRequest[];
  own: string | null;
  isQuiet: boolean;
}

/** The card in the corner, shown while the request is not. */
function CornerNotice({ request, all, own, isQuiet }: CornerNoticeProps) {
  const { hasForm } = useHasForm(useNotDelayedByMe(), own);
  const isCovered = useTopLayer() !== 'page';
  if (!hasForm && !isCovered && !isQuiet) return null;
  const over = isCovered ? 'dialog' : own !== null || hasForm ? 'form' : 'page';
  return <CornerCard request={request} more={all.length - 1} over={over} />;
}
