import { askedTexts, hiddenWarning, type PendingRequest, RISK_TEXTS } from '@callboard/contract';
import { Group } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { Hint } from '../../ui/primitives.tsx';
import { isTextField } from '../../ui/shortcuts.tsx';
import { useStable } from '../../ui/stable-button.tsx';
import { PLACE } from './arming.ts';
import { CUT } from './asked-input.tsx';
import { DecisionButton, useDecisionGuard } from './decision-slot.tsx';
import { useLaterOf, useOverlayState, useSetLater } from './presentation.tsx';
import requestStyles from './request.module.css';
import { useDraft } from './request-drafts.ts';
import css from './swipe.module.css';
import { type FormProps, useCanDecide } from './use-request.ts';

// Swiping a request's card on a phone: to the right allows it, to the left denies it, upwards snoozes it.

/** What a swipe does. */
export type Swipe = 'allow' | 'deny' | 'snooze';
type Axis = 'x' | 'y';

interface Spot {
  x: number;
  y: number;
  /** When the finger was there. */
  at: number;
}

/** `isReady`: whether the card can be decided; `scrolls`: the axes along which the finger scrolls what is under it. */
export type FingerEvent =
  | ({ type: 'down'; isReady: boolean; scrolls: readonly Axis[] } & Spot)
  | ({ type: 'move' } & Spot)
  /** A second finger came, or the browser took the touch. */
  | { type: 'lost' };

/** A finger on the card. */
export interface Drag {
  from: Spot;
  /** Where it was in the last moments, the newest last. */
  trail: readonly Spot[];
  /** The axis that it moves along; null while that is unclear. */
  axis: Axis | null;
  scrolls: readonly Axis[];
}

/** The axis is fixed after this distance, or the touch is no swipe if it is still unclear after the longer one. */
const CLEAR_PX = 6;
const UNCLEAR_PX = 16;
/** How many times farther a swipe goes along its axis than across it. */
const STRAIGHT = 1.5;
/** A swipe counts from this share of the card's width on. */
export const FAR_SHARE = 0.4;
/** A shorter one counts if it is a flick: at least this far, and this fast (in pixels per millisecond) at its end. */
export const FLICK_PX = 80;
const FLICK_SPEED = 0.6;
/** A finger that moves back this fast takes the swipe back. */
const BACK_SPEED = -0.2;
/** The speed is that of the last moments. */
const TRAIL_MS = 50;

/** Returns the drag after an event; null if there is none. What is no swipe stays none until the finger is lifted. */
export function dragging(drag: Drag | null, event: FingerEvent): Drag | null {
  switch (event.type) {
    case 'down': {
      const { isReady, scrolls, x, y, at } = event;
      return isReady ? { from: { x, y, at }, trail: [{ x, y, at }], axis: null, scrolls } : null;
    }
    case 'move': {
      if (drag === null) return null;
      const { x, y, at } = event;
      const trail = [...drag.trail.filter((spot) => at - spot.at <= TRAIL_MS), { x, y, at }];
      return drag.axis === null ? withAxis({ ...drag, trail }) : { ...drag, trail };
    }
    case 'lost':
      return null;
    default:
      return event satisfies never;
  }
}

function withAxis(drag: Drag): Drag | null {
  const { x, y } = distance(drag);
  const far = Math.max(Math.abs(x), Math.abs(y));
  if (far < CLEAR_PX) return drag;
  const axis = Math.abs(x) >= STRAIGHT * Math.abs(y) ? 'x' : -y >= STRAIGHT * Math.abs(x) ? 'y' : null;
  if (axis === null) return far < UNCLEAR_PX ? drag : null;
  return drag.scrolls.includes(axis) ? null : { ...drag, axis };
}

function distance({ from, trail }: Drag): { x: number; y: number } {
  const { x, y } = trail.at(-1) ?? from;
  return { x: x - from.x, y: y - from.y };
}

/** Returns what the swipe would do if it went far enough; null for none. */
function swipeTowards(drag: Drag): Swipe | null {
  const { x, y } = distance(drag);
  if (drag.axis === 'x' && x !== 0) return x > 0 ? 'allow' : 'deny';
  return drag.axis === 'y' && y < 0 ? 'snooze' : null;
}

/** Whether the swipe has gone far enough, and straight. */
export function isFar(drag: Drag, width: number): boolean {
  const { along, isStraight } = course(drag);
  return isStraight && along >= FAR_SHARE * width;
}

/** Returns what the swipe does if the finger is lifted now; null if it was not clearly meant. */
export function swipeOf(drag: Drag, width: number): Swipe | null {
  const { along, isStraight, speed } = course(drag);
  const isFlick = isStraight && along >= FLICK_PX && speed >= FLICK_SPEED;
  return isFlick || (isFar(drag, width) && speed > BACK_SPEED) ? swipeTowards(drag) : null;
}

function course(drag: Drag) {
  const { x, y } = distance(drag);
  const [along, across] = drag.axis === 'y' ? [-y, Math.abs(x)] : [Math.abs(x), Math.abs(y)];
  const [first, last] = [drag.trail[0] ?? drag.from, drag.trail.at(-1) ?? drag.from];
  const moved = drag.axis === 'y' ? first.y - last.y : (last.x - first.x) * Math.sign(x);
  const speed = last.at > first.at ? moved / (last.at - first.at) : 0;
  return { along, isStraight: along >= STRAIGHT * across, speed };
}

/** Returns in a few words why a request is answered by its buttons alone; null if its card can be swiped. */
export function whyButtonsOnly(request: PendingRequest): string | null {
  const { kind, stakes, leavesSandbox, blockedPath, inputChange } = request;
  const [risk] = stakes;
  if (kind !== 'approval') return 'No swiping';
  if (leavesSandbox !== null) return 'No swiping: outside the sandbox';
  if (risk !== undefined) return `No swiping: ${RISK_TEXTS[risk.code]}`;
  if (blockedPath !== null) return `No swiping: ${RISK_TEXTS.outside}`;
  if (hiddenWarning(askedTexts(request)) !== null) return 'No swiping: hidden characters';
  return inputChange === undefined ? null : 'No swiping: changed by a hook';
}

/** Returns the axes along which something around the element can be scrolled. */
function scrollsAround(target: Element): Axis[] {
  const axes = new Set<Axis>();
  for (let one: Element | null = target; one !== null; one = one.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(one);
    if (SCROLLS.test(overflowX) && one.scrollWidth > one.clientWidth + 1) axes.add('x');
    if (SCROLLS.test(overflowY) && one.scrollHeight > one.clientHeight + 1) axes.add('y');
  }
  return [...axes];
}
const SCROLLS = /^(?:auto|scroll)$/;

/** Whether the whole of what is asked is on the screen. */
function showsAll(place: Element): boolean {
  const scroll = place.querySelector(`.${requestStyles.scroll}`);
  const below = scroll === null ? 0 : scroll.scrollHeight - scroll.clientHeight - scroll.scrollTop;
  return place.querySelector(`[${CUT}]`) === null && below <= 8;
}

/** A phone: narrow, and touched. */
const PHONE = '(max-width: 767px) and (pointer: coarse)';
const LABELS: Readonly<Record<Swipe, string>> = { allow: 'Allow', deny: 'Deny', snooze: 'Snooze' };
/** How much of the finger's way a card goes that is not swiped. */
const HELD_SHARE = 0.2;

type SwipeProps = Pick<FormProps, 'request' | 'approve'>;

/** Lets the card that surrounds the form be swiped on a phone, as a second way to press its buttons. */
export function SwipeToAnswer(props: SwipeProps) {
  const isPhone = useMediaQuery(PHONE, false, { getInitialValueInEffect: false });
  return isPhone && <Swiped {...props} />;
}

interface Shown {
  swipe: Swipe;
  isFar: boolean;
  /** Why it does nothing. */
  whyNot: string | null;
}

function Swiped({ request, approve }: SwipeProps) {
  const root = useRef<HTMLDivElement>(null);
  const drag = useRef<Drag | null>(null);
  const [{ reason, edited }] = useDraft(request);
  const [shown, setShown] = useState<Shown | null>(null);
  const [asksReason, setAsksReason] = useState(false);
  const { maySwipeDecide } = useDecisionGuard();
  const setLater = useSetLater();
  const isSnoozed = useLaterOf(request) !== undefined;
  const isOff = !useCanDecide(request) || approve.isPending || approve.isSuccess;
  const buttonsOnly = whyButtonsOnly(request) ?? (edited === null ? null : 'No swiping: edited');

  const whyNot = (swipe: Swipe, place: Element): string | null => {
    if (buttonsOnly !== null || swipe === 'deny') return buttonsOnly;
    if (swipe === 'snooze') return isSnoozed ? 'Snoozed already' : null;
    if (!showsAll(place)) return 'Not all of it is shown';
    return reason.trim() === '' ? null : 'A reason is written';
  };
  const follow = (place: HTMLElement, event: FingerEvent) => {
    drag.current = dragging(drag.current, event);
    const swipe = drag.current === null ? null : swipeTowards(drag.current);
    if (drag.current === null || swipe === null) {
      place.style.translate = '';
      place.style.transition = '';
      setShown(null);
      return;
    }
    const next = { swipe, isFar: isFar(drag.current, place.clientWidth), whyNot: whyNot(swipe, place) };
    const { x, y } = distance(drag.current);
    place.style.transition = 'none'; // it stays under the finger, and springs back
    const share = next.whyNot === null ? 1 : HELD_SHARE;
    place.style.translate = swipe === 'snooze' ? `0 ${y * share}px` : `${x * share}px`;
    setShown((old) => (JSON.stringify(old) === JSON.stringify(next) ? old : next));
  };
  const act = (swipe: Swipe, place: HTMLElement) => {
    if (swipe === 'deny') {
      setAsksReason(true);
      return;
    }
    flyAway(place, swipe);
    if (swipe === 'allow') approve.mutate({ decision: 'allow', hold: true });
    else {
      setLater.mutate({ requests: [request], later: { until: null } });
      useOverlayState.getState().offerBack(request);
    }
  };
  const onTouch = useEffectEvent((event: TouchEvent, place: HTMLElement) => {
    const { type, touches, changedTouches, target, timeStamp: at } = event;
    const touch = changedTouches[0];
    if (type === 'touchcancel' || touches.length > 1 || touch === undefined || !(target instanceof Element)) {
      follow(place, { type: 'lost' });
      return;
    }
    const { clientX: x, clientY: y } = touch;
    if (type === 'touchstart') {
      const isReady = !isOff && maySwipeDecide(event) && !isTextField(target);
      follow(place, { type: 'down', x, y, at, isReady, scrolls: scrollsAround(target) });
      return;
    }
    follow(place, { type: 'move', x, y, at });
    if (type === 'touchmove') {
      if (drag.current === null || drag.current.axis === null) return;
      if (event.cancelable) event.preventDefault();
      else follow(place, { type: 'lost' }); // the browser scrolls already
      return;
    }
    const swipe = drag.current === null ? null : swipeOf(drag.current, place.clientWidth);
    follow(place, { type: 'lost' });
    if (swipe !== null && !isOff && maySwipeDecide(event) && whyNot(swipe, place) === null) act(swipe, place);
  });
  useEffect(() => {
    const place = root.current?.closest<HTMLElement>(`[${PLACE}]`);
    if (place == null) return;
    const listener = (event: TouchEvent) => onTouch(event, place);
    const stop = new AbortController();
    for (const type of ['touchstart', 'touchmove', 'touchend', 'touchcancel'] as const)
      place.addEventListener(type, listener, { passive: false, signal: stop.signal });
    return () => stop.abort();
  }, []);

  return (
    <>
      <Hint ref={root} className={css.hint} size="xs">
        {buttonsOnly ?? (asksReason ? ASKS_REASON : 'Swipe: right allows, left denies, up snoozes')}
      </Hint>
      {asksReason && <Reasons request={request} approve={approve} isOff={isOff} />}
      {shown !== null && (
        <div className={css.offer} data-swipe={shown.swipe} data-far={shown.isFar} data-off={shown.whyNot !== null}>
          <span>{shown.whyNot ?? LABELS[shown.swipe]}</span>
        </div>
      )}
    </>
  );
}

const AWAY: Readonly<Record<Swipe, string>> = { allow: '110%', deny: '-110%', snooze: '0 -110vh' };
/** If the answer takes longer, the card is back by then, and says so. */
const AWAY_MS = 800;

/** Moves the card off the screen, where the next one is behind it. */
function flyAway(place: HTMLElement, swipe: Swipe): void {
  const isStill = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  if (isStill || typeof place.animate !== 'function') return;
  const translate = AWAY[swipe];
  place.animate([{}, { translate, offset: 0.2 }, { translate }], AWAY_MS);
}

const ASKS_REASON = 'Why not? Tap a reason, or write one and tap Deny';
const REASONS = ['Not needed', 'Too risky', 'Find another way'];

/** Reasons that deny the request; another one is written into the form's field. */
function Reasons({ request, approve, isOff }: SwipeProps & { isOff: boolean }) {
  const [{ reason }] = useDraft(request);
  const isStable = useStable();
  return (
    <Group justify="center" gap="xs" px="lg" pb="md" role="group" aria-label="Why not?">
      {REASONS.map((text) => (
        <DecisionButton
          key={text}
          variant="default"
          size="compact-sm"
          disabled={isOff || !isStable}
          act={() => approve.mutate({ decision: 'deny', reason: `${text}. ${reason}`.trim(), hold: true })}
        >
          {text}
        </DecisionButton>
      ))}
    </Group>
  );
}
