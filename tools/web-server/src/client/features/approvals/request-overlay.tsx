import type { PendingRequest, Presentation } from '@callboard/contract';
import { Anchor, Box, Button, Group, Modal, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { crashDialog } from '../../data/dialogs.ts';
import { useTour } from '../../data/tour.ts';
import { requestKey } from '../../lib/format.ts';
import { NoticePlace, useDialogPlace } from '../../ui/dialog.tsx';
import { useKeyboardInset } from '../../ui/form-end.tsx';
import { KindIcon, StageIdText } from '../../ui/marks.tsx';
import { Hint } from '../../ui/primitives.tsx';
import {
  isTextField,
  KeyHint,
  useCoversPage,
  useRecentlyShown,
  useShortcuts,
  useTopLayer,
} from '../../ui/shortcuts.tsx';
import { TimeSince } from '../../ui/text.tsx';
import { RulesDialog } from '../rules/rules-dialog.tsx';
import { TrustDialog } from '../trust/trust-dialog.tsx';
import { askFor, notify, turnToPage, useArming, useFieldText } from './arming.ts';
import css from './corner-card.module.css';
import { DecisionSlot, ROOM } from './decision-slot.tsx';
import { askSummary, askTitle } from './kinds/request-summary.ts';
import { overlayQueue, positionText, useAside, useMe, useOverlayState, useSetLater } from './presentation.tsx';
import requestStyles from './request.module.css';
import { DelayedAnswers, RequestForm, RequestHead } from './request-section.tsx';
import { useNotDelayedByMe } from './use-decide.tsx';
import { useFolder, useStageTitle } from './use-request.ts';

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

/** The card in the corner, shown while the request is not. Over a dialog, it stands in its head and covers nothing. */
function CornerNotice({ request, all, own, isQuiet }: CornerNoticeProps) {
  const { hasForm } = useHasForm(useNotDelayedByMe(), own);
  const isCovered = useTopLayer() !== 'page';
  const place = useDialogPlace();
  if (!hasForm && !isCovered && !isQuiet) return null;
  const over = isCovered ? 'dialog' : own !== null || hasForm ? 'form' : 'page';
  const card = <CornerCard request={request} more={all.length - 1} over={over} />;
  if (!isCovered) return card;
  return place === null ? null : createPortal(card, place);
}

const PAUSE_MS = 1_200;
/** Keys that write nothing into a field: they move the focus or send the text. */
const PASSING: ReadonlySet<string> = new Set(['Tab', 'Escape', 'Enter', 'Shift', 'Control', 'Alt', 'Meta']);

/** True if nobody has typed for a moment, so that the overlay does not open in the middle of a word. */
function useTypingPause(): boolean {
  const [paused, setPaused] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onKey = (event: KeyboardEvent) => {
      if (!isTextField(event.target) || PASSING.has(event.key)) return;
      setPaused(false);
      clearTimeout(timer);
      timer = setTimeout(() => setPaused(true), PAUSE_MS);
    };
    document.addEventListener('keydown', onKey, { capture: true });
    return () => {
      clearTimeout(timer);
      document.removeEventListener('keydown', onKey, { capture: true });
    };
  }, []);
  return paused;
}

interface CornerCardProps {
  request: PendingRequest;
  /** How many more requests wait. */
  more: number;
  /** What it lies over: a dialog, a page with a form of its own, or any other page. */
  over: 'dialog' | 'form' | 'page';
}

/** Another stage's request, shown while the page is used for something else. A person can open it from here, but not decide it. */
function CornerCard({ request, more, over }: CornerCardProps) {
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
      <Box flex={1} miw={0} id={id}>
        <Group wrap="nowrap" align="baseline">
          <span data-tone="needs">
            <KindIcon kind={request.kind} toolName={request.toolName} size={14} />
          </span>
          <Text span inherit fw={600} truncate title={title}>
            {title}
          </Text>
          <span className={css.id}>
            <StageIdText id={request.stageId} />
          </span>
          <Text span inherit ml="auto" flex="none" className="figures" data-tone="needs">
            <TimeSince at={request.createdAt} />
          </Text>
          {more > 0 && (
            <Text span inherit flex="none" c="dimmed" className={css.more}>
              {more} more
            </Text>
          )}
        </Group>
        <div className="truncate">{askSummary(request, folder)}</div>
      </Box>
      <Group gap={0} wrap="nowrap" flex="none">
        <Button
          variant="subtle"
          size="compact-sm"
          aria-describedby={id}
          aria-keyshortcuts="c"
          rightSection={<KeyHint>C</KeyHint>}
          // Keeps the focus in the text field, so that it can return there.
          onMouseDown={(event) => event.preventDefault()}
          onClick={open}
        >
          Look
        </Button>
        {over === 'page' && (
          <Button
            variant="subtle"
            size="compact-sm"
            aria-describedby={id}
            onClick={() => setLater.mutate({ requests: [request], later: { until: null } })}
          >
            Snooze
          </Button>
        )}
      </Group>
    </section>
  );
}

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
function RequestDialog({ request, isOpen, isAbove, isInert, close, ...front }: DialogProps) {
  const fullScreen = useMediaQuery('(max-width: 767px)') ?? false;
  return (
    <Modal.Root
      classNames={{ content: requestStyles.modalContent }}
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
      {request !== undefined && <Named {...front} request={request} isOpen={isOpen} />}
    </Modal.Root>
  );
}

/** The edge of the request that follows, behind the card of a phone. */
function NextCard({ request }: { request: PendingRequest }) {
  const title = useStageTitle(request.stageId);
  return (
    <Group
      aria-hidden
      hiddenFrom="sm"
      className={requestStyles.next}
      pos="absolute"
      inset="-8px 10px 0"
      p="sm"
      align="flex-start"
      wrap="nowrap"
    >
      <KindIcon kind={request.kind} toolName={request.toolName} size={16} />
      <Hint span truncate>
        {title}: {askSummary(request, useFolder(request.stageId))}
      </Hint>
    </Group>
  );
}

function Named({ request, isOpen, ...front }: FrontProps & { isOpen: boolean }) {
  const title = askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId));
  const key = requestKey(request);
  const next = front.all.find((one) => requestKey(one) !== key);
  return (
    <Modal.Content aria-label={title} style={{ paddingBottom: useKeyboardInset() }} {...{ [FRONT]: '', [ROOM]: true }}>
      <NoticePlace isOpen={isOpen} />
      {next !== undefined && <NextCard request={next} />}
      <DecisionSlot key={key} about={key} layer="overlay" className={requestStyles.place}>
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
      <Modal.Body className={requestStyles.modalBody} ref={body} tabIndex={-1} data-autofocus>
        <RequestForm request={request} />
        <TextHint />
        <FirstRequest />
      </Modal.Body>
    </>
  );
}

/** Says why no key decides while a field of the page holds unsent text. */
function TextHint() {
  const hasText = useFieldText(FRONT_SELECTOR);
  return (
    <Hint className={requestStyles.held} role="status">
      {hasText && 'Keys are off while a text on the page is not sent. Press a button.'}
    </Hint>
  );
}

/** On the first request that this browser shows: what Callboard is for, to be tried. */
function FirstRequest() {
  const isFirst = useTour(({ done }) => !done.includes('answer') && !done.includes('plug'));
  if (!isFirst) return null;
  return (
    <Hint px={16} pb={12} ta="right">
      Kill Callboard while this waits: it will still be here.{' '}
      <Anchor component="button" type="button" fz="inherit" onClick={crashDialog.open}>
        Pull the plug
      </Anchor>
    </Hint>
  );
}

/** Marks what shows a request over or beside the page: the overlay, and the panel. Fields in it are not the page's. */
export const FRONT = 'data-request-front';
const FRONT_SELECTOR = `[${FRONT}]`;

/** When to look whether the focus was lost: what was over the page may lie over it for a moment. */
const CHECK_INTERVAL_MS = [0, 50, 200];

/** The key of whatever the overlay shows: it takes the focus itself, and keeps it from one request to the next. */
export const OVERLAY = 'overlay';

/** Gives the focus back to where it was in the page when the request that is shown goes. @param key null: none is shown */
export function useFocusGivenBack(key: string | null): void {
  const outside = useRef<HTMLElement | null>(null);
  const timers = useRef<ReturnType<typeof setTimeout>[]>([]);
  useEffect(() => {
    const onFocus = ({ target }: FocusEvent) => {
      if (target instanceof HTMLElement && target.closest(FRONT_SELECTOR) === null) outside.current = target;
    };
    document.addEventListener('focusin', onFocus);
    return () => document.removeEventListener('focusin', onFocus);
  }, []);
  useEffect(() => {
    if (key === null) return;
    if (key === OVERLAY) timers.current.forEach(clearTimeout); // it is back, and what is in it is not lost
    return () => {
      const { current } = outside;
      const giveBack = () => {
        const { activeElement } = document;
        const isLost =
          activeElement === document.body || activeElement?.closest(`${FRONT_SELECTOR}[role="dialog"]`) != null;
        if (isLost) current?.focus({ preventScroll: true });
      };
      timers.current = CHECK_INTERVAL_MS.map((ms) => setTimeout(giveBack, ms));
    };
  }, [key]);
  // After the effect above, whose end sets them: a page that is gone has no focus to give.
  useEffect(() => () => timers.current.forEach(clearTimeout), []);
}

/** The first waiting request beside the page: at its right edge, on a phone at its bottom. It never takes the focus. */
function RequestPanel({ request, position, all, isCovered }: FrontProps) {
  const panel = useRef<HTMLElement>(null);
  useRoomBesidePage(panel);
  const title = askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId));
  const key = requestKey(request);
  return (
    <section
      ref={panel}
      className={requestStyles.panel}
      aria-label="Waiting request"
      inert={isCovered}
      {...{ [FRONT]: '', [ROOM]: true }}
    >
      <p className="visually-hidden" role="status">
        {title}
      </p>
      <DecisionSlot key={key} about={key} className={requestStyles.place}>
        <DelayedAnswers />
        <RequestHead request={request} position={position} all={all} />
        <RequestForm request={request} label={title} />
        <TextHint />
      </DecisionSlot>
    </section>
  );
}

const SIDE = '--docked-end';
const BELOW = '--docked-bottom';

/** Makes the page leave room for the panel, so that it covers nothing. */
function useRoomBesidePage(panel: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = panel.current;
    if (element === null) return;
    const { style } = document.documentElement;
    const measure = () => {
      const { width, height } = element.getBoundingClientRect();
      const isSheet = width >= window.innerWidth;
      style.setProperty(SIDE, isSheet ? '0px' : `${width}px`);
      style.setProperty(BELOW, isSheet ? `${height}px` : '0px');
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      observer.disconnect();
      style.removeProperty(SIDE);
      style.removeProperty(BELOW);
    };
  }, [panel]);
}
