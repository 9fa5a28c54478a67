import { create } from 'zustand';
import {
  type Arming,
  type ArmingEvent,
  arming,
  isArmed,
  isReady,
  keyDecides,
  nextChange,
  pressDecides,
  pressingKey,
  START,
} from './arming.ts';
import { hasFieldText } from './field-text.ts';

// Feeds the page's events to the arming state machine and passes its verdicts to the forms.

/** `PLACE` marks a form, to find it from an element inside it; `DECIDES` marks a button that decides. */
export const PLACE = 'data-request-place';
export const DECIDES = 'data-decides';

interface Armed {
  state: Arming;
  now: number;
  /** The timer for the next verdict that changes with time alone. */
  timer: { at: number; id: ReturnType<typeof setTimeout> } | null;
}

export const useArming = create<Armed>(() => ({ state: START, now: 0, timer: null }));

export const readySelector =
  (id: string) =>
  ({ state, now }: Armed) =>
    isReady(state, id, now);
export const armedSelector =
  (id: string) =>
  ({ state, now }: Armed) =>
    isArmed(state, id, now);

type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never;

/** Feeds an event to the state machine. @param when when it happened, which can be before this page handled it */
export function notify(event: WithoutTime<ArmingEvent>, when = performance.now()): void {
  const { state, now } = useArming.getState();
  const next = arming(state, { ...event, at: when });
  const latest = Math.max(when, now);
  useArming.setState({ state: next, now: latest });
  planTick(next, latest);
}

function planTick(state: Arming, now: number): void {
  const at = nextChange(state, now);
  const { timer } = useArming.getState();
  if (at === null || (timer !== null && timer.at <= at)) return;
  if (timer !== null) clearTimeout(timer.id);
  const id = setTimeout(
    () => {
      useArming.setState({ timer: null });
      notify({ type: 'passed' });
    },
    Math.max(1, at - performance.now() + 1),
  );
  useArming.setState({ timer: { at, id } });
}

/** Records that a person asked to see this, with a key or a press on a link to it. */
export const askFor = (key: string): void => notify({ type: 'asked-for', key });

/** Whether this key may decide the form. */
export const mayKeyDecide = (id: string, { code }: KeyboardEvent): boolean =>
  keyDecides(useArming.getState().state, id, code);

/** Whether this click may decide the form. It may come from a pointer, a key on the focused button, or assistive software. */
export function mayClickDecide(id: string, { detail, timeStamp }: Pick<MouseEvent, 'detail' | 'timeStamp'>): boolean {
  const { state } = useArming.getState();
  if (detail > 0) return pressDecides(state, id, timeStamp);
  const code = pressingKey(state);
  return code === null ? isReady(state, id, timeStamp) : keyDecides(state, id, code);
}

/** Whether a click is a tap on a touch screen. A key or assistive software clicks without a press. */
export const isTap = ({ detail }: Pick<MouseEvent, 'detail'>): boolean =>
  detail > 0 && useArming.getState().state.isTouch;

const locationOf = (target: EventTarget | null): string | null =>
  target instanceof Element ? (target.closest(`[${PLACE}]`)?.getAttribute(PLACE) ?? null) : null;

/** Returns the form whose enabled button is under the target; null if there is none. */
function buttonPlace(target: EventTarget | null): string | null {
  const button = target instanceof Element ? target.closest(`[${DECIDES}]`) : null;
  return button === null || button.matches('[aria-disabled="true"], :disabled') ? null : locationOf(button);
}

const TURNS: ReadonlySet<string> = new Set(['Tab', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'j', 'k']);
const isTurning = (event: KeyboardEvent) => TURNS.has(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey;

/** Returns the form in the overlay: a key outside any form turns to it. */
const overlayForm = (state: Arming): string | null =>
  state.top === 'overlay' ? (state.forms.find(({ layer }) => layer === 'overlay')?.id ?? null) : null;

/** Starts listening to the person's actions on this page. @returns a function that stops listening */
export function followPerson(): () => void {
  const stop = new AbortController();
  const on = { capture: true, passive: true, signal: stop.signal };
  // A key moves the focus within the same task.
  let turning: number | null = null;
  const onKeyDown = (event: KeyboardEvent) => {
    const { target, code, repeat, timeStamp } = event;
    notify({ type: 'key-down', code, isRepeat: repeat, hasText: hasFieldText() }, timeStamp);
    if (!isTurning(event)) return;
    turning = timeStamp;
    setTimeout(() => {
      turning = null;
    });
    const id = locationOf(target) ?? overlayForm(useArming.getState().state);
    if (id !== null) notify({ type: 'turned', id }, timeStamp);
  };
  const onFocus = ({ target }: FocusEvent) => {
    const id = locationOf(target);
    if (turning !== null && id !== null) notify({ type: 'turned', id }, turning);
  };
  const onPointerMove = ({ clientX: x, clientY: y, target, timeStamp }: PointerEvent) =>
    notify({ type: 'pointer', x, y, over: locationOf(target) }, timeStamp);
  const onPress = ({ target, timeStamp, pointerType }: PointerEvent) => {
    const isTouch = pointerType === 'touch';
    notify({ type: 'press', over: locationOf(target), button: buttonPlace(target), isTouch }, timeStamp);
  };
  // A key presses a button only after its keyup event.
  const onKeyUp = ({ code }: KeyboardEvent) => void setTimeout(() => notify({ type: 'key-up', code }));
  const onVisibility = () => notify({ type: document.visibilityState === 'hidden' ? 'left' : 'returned' });
  document.addEventListener('keydown', onKeyDown, on);
  document.addEventListener('keyup', onKeyUp, on);
  document.addEventListener('focusin', onFocus, on);
  document.addEventListener('pointermove', onPointerMove, on);
  document.addEventListener('pointerdown', onPress, on);
  document.addEventListener('wheel', ({ timeStamp }) => notify({ type: 'wheel' }, timeStamp), on);
  document.addEventListener('visibilitychange', onVisibility, on);
  window.addEventListener('blur', (event) => event.target === window && notify({ type: 'left' }), on);
  window.addEventListener('focus', (event) => event.target === window && notify({ type: 'returned' }), on);
  return () => stop.abort();
}

/** Turns to the form in the page and scrolls it into view. @returns false if there is none */
export function turnToPage(): boolean {
  const form = useArming.getState().state.forms.find(({ layer, takesKeys }) => layer === 'page' && takesKeys);
  if (form === undefined) return false;
  document.querySelector(`[${PLACE}="${form.id}"]`)?.scrollIntoView({ block: 'nearest' });
  askFor(form.key);
  return true;
}
