import { useSyncExternalStore } from 'react';
import { create } from 'zustand';
import { isTextField } from '../../ui/shortcuts.tsx';

// Decides which key, press or tap may decide which request. A pure state machine: it knows the page only through the events it gets.

/** The top layer: the page, the overlay with its request, or another dialog. Nothing below a dialog takes a key. */
export type Top = 'page' | 'overlay' | 'dialog';

export interface Point {
  x: number;
  y: number;
}

/** A drawn form with buttons that decide. A form that is drawn again counts as a new one. */
interface Form {
  id: string;
  /** The request or stage that it is about; two forms of one request share it. */
  key: string;
  layer: Exclude<Top, 'dialog'>;
  /** False where only a press decides. */
  takesKeys: boolean;
  /** Whether it is armed once it has been there alone for long enough. */
  armsAlone: boolean;
  /** When it was drawn or last uncovered. */
  at: number;
  /** When its buttons came onto the screen; null while they are off the screen. */
  inViewAt: number | null;
  /** Where the pointer was at that time; null if it had not been seen. */
  pointer: Point | null;
}

/** A key that is held down: the form it may decide, and whether a field held text when it went down. */
interface DelayedKey {
  formId: string | null;
  hasText: boolean;
}

export interface Arming {
  top: Top;
  forms: readonly Form[];
  /** The one form whose keys decide; null if there is none. */
  armed: string | null;
  /** Since when it is armed. */
  armedAt: number;
  /** Whether a person turned to the armed form; false if it was armed because it had been there long enough. */
  isTurnedTo: boolean;
  /** What a person asked to see and is not drawn yet. */
  turned: { key: string; at: number } | null;
  /** When the set of reachable forms last changed. */
  sameAt: number;
  /** When the person last acted. */
  actedAt: number;
  /** Whether the person is in another window or tab. */
  isAway: boolean;
  pointer: Point | null;
  held: ReadonlyMap<string, DelayedKey>;
  /** The form whose enabled button was under the last press when it began. */
  pressed: string | null;
  /** The form that was under the last press when it began, if it could be decided by then: a swipe may decide it. */
  touched: string | null;
  /** Whether the last press was a tap on a touch screen. Decides how an answer is sent, never whether. */
  isTouch: boolean;
}

/**
 * `at` is when it happened. On a busy machine the page hears of a person's act late, after something that happened later; each act is
 * judged by what was true when it happened.
 */
export type ArmingEvent = { at: number } & (
  | { type: 'drawn'; id: string; key: string; layer: Form['layer']; takesKeys: boolean; armsAlone: boolean }
  | { type: 'gone'; id: string }
  /** A form's buttons came onto the screen or left it. */
  | { type: 'view'; id: string; isIn: boolean }
  | { type: 'top'; top: Top }
  /** A person turned to a form with Tab, an arrow key, J or K in it; or asked for its subject, which may be drawn next. */
  | { type: 'turned'; id: string }
  | { type: 'asked-for'; key: string }
  /** `over`: the form under the pointer, if any. */
  | ({ type: 'pointer'; over: string | null } & Point)
  /** `button`: the form whose enabled button is under the press; `over`: the form under it. */
  | { type: 'press'; over: string | null; button: string | null; isTouch?: boolean }
  | { type: 'key-down'; code: string; isRepeat: boolean; hasText: boolean }
  | { type: 'key-up'; code: string }
  /** The person scrolled the page, left it for another window, or came back; `passed`: only time has passed. */
  | { type: 'wheel' | 'left' | 'returned' | 'passed' }
);

/** A form must be visible for this long before anything decides it. */
export const UNREADY_MS = 500;
/** The only reachable request is armed after this time without any action of the person. */
const STILL_MS = 1_000;
/** A request to see a form applies only if the form is drawn within this time. */
const ASKED_MS = 1_500;
/** A hand resting on the mouse moves it this far unintentionally. */
const JITTER_PX = 4;

export const START: Arming = {
  top: 'page',
  forms: [],
  armed: null,
  armedAt: 0,
  isTurnedTo: false,
  turned: null,
  sameAt: 0,
  actedAt: 0,
  isAway: false,
  pointer: null,
  held: new Map(),
  pressed: null,
  touched: null,
  isTouch: false,
};

/** Returns the state after an event. */
export function arming(old: Arming, event: ArmingEvent): Arming {
  const before = settled(old, event.at);
  const after = step(before, event);
  const isSame = reachable(before).join() === reachable(after).join();
  return isSame ? after : { ...after, sameAt: event.at };
}

function step(state: Arming, event: ArmingEvent): Arming {
  switch (event.type) {
    case 'drawn': {
      const { id, key, layer, takesKeys, armsAlone, at } = event;
      const rest = without(state, id);
      const form: Form = { id, key, layer, takesKeys, armsAlone, at, inViewAt: null, pointer: state.pointer };
      return { ...rest, forms: [...rest.forms, form] };
    }
    case 'gone':
      return without(state, event.id);
    case 'view':
      return inView(state, event.id, event.isIn ? event.at : null);
    case 'top':
      return covered(state, event.top, event.at);
    case 'turned':
      return armedIfReachable(acted(state, event.at), event.id, event.at);
    case 'asked-for':
      return askedFor({ ...acted(state, event.at), turned: { key: event.key, at: event.at } }, event.at);
    case 'pointer':
      return pointed(state, event);
    case 'press': {
      const { button, over, isTouch = false, at } = event;
      const turned = { ...acted(state, at), armed: null, turned: null, isTouch };
      const pressed = isReady(state, button, at) ? button : null;
      const touched = isReady(state, over, at) ? over : null;
      return { ...(over === null ? turned : armedIfReachable(turned, over, at)), pressed, touched };
    }
    case 'key-down': {
      const { code, isRepeat, hasText, at } = event;
      const isKnown = isRepeat && state.held.has(code);
      const formId = !isRepeat && state.armedAt <= at && isKeyReady(state, state.armed, at) ? state.armed : null;
      const held = isKnown ? state.held : new Map(state.held).set(code, { formId, hasText });
      return { ...acted(state, at), held };
    }
    case 'key-up': {
      const held = new Map(state.held);
      held.delete(event.code);
      return { ...state, held };
    }
    case 'wheel':
      return acted(state, event.at);
    case 'left':
      return { ...state, isAway: true, armed: null, turned: null, held: new Map(), pressed: null, touched: null };
    case 'returned':
      return { ...state, isAway: false, armed: null, actedAt: event.at };
    case 'passed':
      return state;
    default:
      return event satisfies never;
  }
}

/** Records that the person acted. An act from before a form armed alone takes that back: it was not still then. */
function acted(state: Arming, at: number): Arming {
  const wasStill = state.isTurnedTo || state.armedAt <= at;
  return { ...state, armed: wasStill ? state.armed : null, actedAt: Math.max(state.actedAt, at) };
}

/** Removes a form. A key or press that began on it must not decide another form. */
const without = (state: Arming, id: string): Arming => ({
  ...state,
  forms: state.forms.filter((form) => form.id !== id),
  armed: state.armed === id ? null : state.armed,
  pressed: state.pressed === id ? null : state.pressed,
  touched: state.touched === id ? null : state.touched,
  held: new Map([...state.held].map(([code, key]) => [code, key.formId === id ? { ...key, formId: null } : key])),
});

/** Arms the only reachable form once its time has come. */
function settled(state: Arming, at: number): Arming {
  const lone = loneForm(state);
  if (state.armed !== null || lone === null || at < restedAt(state)) return state;
  return { ...state, armed: lone, armedAt: restedAt(state), isTurnedTo: false };
}

const restedAt = ({ sameAt, actedAt }: Arming) => Math.max(sameAt, actedAt) + STILL_MS;

function loneForm(state: Arming): string | null {
  const [first, second] = reachable(state);
  if (first === undefined || second !== undefined || state.isAway) return null;
  return state.forms.some(({ id, armsAlone }) => id === first && armsAlone) ? first : null;
}

/** Returns the forms that keys could reach: on the screen, with nothing over them. */
const reachable = ({ forms, top }: Arming): string[] =>
  forms.filter((form) => form.takesKeys && form.layer === top && form.inViewAt !== null).map(({ id }) => id);

/** Arms the form that a person turned to, unless that was before it was visible. */
function armedIfReachable(state: Arming, id: string, at: number): Arming {
  const form = state.forms.find((other) => other.id === id);
  if (form === undefined || !reachable(state).includes(id) || at < visibleAt(form)) return state;
  const armedAt = state.armed === id ? Math.min(state.armedAt, at) : at;
  return { ...state, armed: id, armedAt, isTurnedTo: true, turned: null };
}

/** Since when a form is both uncovered and on the screen. */
const visibleAt = ({ at, inViewAt }: Form) => Math.max(at, inViewAt ?? at);

/** Arms the form that a person asked for as soon as it is visible. */
function askedFor(state: Arming, at: number): Arming {
  const { turned } = state;
  if (turned === null || at - turned.at > ASKED_MS) return state;
  const form = state.forms.find(({ id, key }) => key === turned.key && reachable(state).includes(id));
  return form === undefined ? state : armedIfReachable(state, form.id, Math.max(at, visibleAt(form)));
}

function inView(state: Arming, id: string, inViewAt: number | null): Arming {
  const forms = state.forms.map((form) => (form.id === id ? { ...form, inViewAt, pointer: state.pointer } : form));
  if (inViewAt === null) return { ...state, forms, armed: state.armed === id ? null : state.armed };
  return askedFor({ ...state, forms }, inViewAt);
}

/** Changes the top layer. A form that is uncovered counts as newly drawn. */
function covered(state: Arming, top: Top, at: number): Arming {
  if (top === state.top) return state;
  const forms = state.forms.map((form) => (form.layer === top ? { ...form, at, pointer: state.pointer } : form));
  return askedFor({ ...state, top, forms, armed: null, pressed: null, touched: null }, at);
}

/** Moving the pointer onto a form turns to it; a pointer that rests where the form appears does not. */
function pointed(state: Arming, { x, y, over, at }: Point & { over: string | null; at: number }): Arming {
  const last = state.pointer;
  if (last !== null && last.x === x && last.y === y) return state;
  const next = { ...acted(state, at), pointer: { x, y } };
  const form = state.forms.find(({ id }) => id === over);
  if (form === undefined) return next;
  const isFar = form.pointer === null || Math.hypot(form.pointer.x - x, form.pointer.y - y) >= JITTER_PX;
  return isFar ? armedIfReachable(next, form.id, at) : next;
}

/** Whether the form's buttons can be pressed. */
function isReady({ forms, top }: Arming, id: string | null, at: number): boolean {
  const form = forms.find((other) => other.id === id);
  return form !== undefined && form.layer === top && at - form.at >= UNREADY_MS;
}

function isKeyReady(state: Arming, id: string | null, at: number): boolean {
  const form = state.forms.find((other) => other.id === id);
  return isReady(state, id, at) && form?.inViewAt != null && at - form.inViewAt >= UNREADY_MS;
}

/** Whether a key pressed now would decide this form. */
export const isArmed = (state: Arming, id: string, at: number): boolean => {
  const now = settled(state, at);
  return now.armed === id && !now.isAway && isKeyReady(now, id, at);
};

/** The keys that press the focused button. They work even while a field holds text. */
const PRESSES: ReadonlySet<string> = new Set(['Enter', 'NumpadEnter', 'Space']);

/** Whether this held key may decide this form. */
export function keyDecides(state: Arming, id: string, code: string): boolean {
  const key = state.held.get(code);
  return key?.formId === id && reachable(state).includes(id) && (!key.hasText || PRESSES.has(code));
}

/** Returns the held key that presses a focused button; null if there is none. */
const pressingKey = ({ held }: Arming): string | null => [...held.keys()].find((code) => PRESSES.has(code)) ?? null;

/** Whether the latest press may decide this form. */
export const pressDecides = (state: Arming, id: string, at: number): boolean =>
  state.pressed === id && isReady(state, id, at);

/** Whether a swipe that began with the latest press may decide this form. */
export const swipeDecides = (state: Arming, id: string, at: number): boolean =>
  state.touched === id && isReady(state, id, at);

/** Returns when the passing of time alone next changes a verdict; null if it changes none. */
export function nextChange(state: Arming, at: number): number | null {
  const ready = state.forms.flatMap((form) => [form.at + UNREADY_MS, (form.inViewAt ?? form.at) + UNREADY_MS]);
  const rested = state.armed === null && loneForm(state) !== null ? [restedAt(state)] : [];
  const coming = [...ready, ...rested].filter((moment) => moment > at);
  return coming.length === 0 ? null : Math.min(...coming);
}

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

/** Whether the swipe in hand may decide the form. */
export const maySwipeDecide = (id: string, { timeStamp }: Event): boolean =>
  swipeDecides(useArming.getState().state, id, timeStamp);

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

// Excludes the invisible copy with which a growing field measures itself.
const FIELDS = ['textarea', 'input', '[contenteditable]:not([contenteditable="false"])']
  .map((field) => `${field}:not([aria-hidden="true"])`)
  .join();
/** The polling interval for text that changes without an event (a restored draft, a sent message). */
const CHECK_INTERVAL_MS = 250;

function pausesText(field: Element): boolean {
  if (field instanceof HTMLSelectElement || !isTextField(field)) return false;
  const isInput = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement;
  if (isInput && (field.readOnly || field.type === 'hidden')) return false;
  // A filter field keeps its text; it counts as being edited only while it has the focus.
  if (field.matches('[data-shortcut="find"], [type="search"]') && field !== document.activeElement) return false;
  return (isInput ? field.value : (field.textContent ?? '')).trim() !== '';
}

/** Whether a field holds unsent text. @param outside ignores fields inside elements that match this selector */
function hasFieldText(outside?: string): boolean {
  return [...document.querySelectorAll(FIELDS)].some(
    (field) => (outside === undefined || field.closest(outside) === null) && pausesText(field),
  );
}

function onFieldText(changed: () => void): () => void {
  const events = ['input', 'change', 'focusin', 'focusout'];
  for (const name of events) document.addEventListener(name, changed);
  const timer = setInterval(changed, CHECK_INTERVAL_MS);
  return () => {
    for (const name of events) document.removeEventListener(name, changed);
    clearInterval(timer);
  };
}

/** Subscribes to `hasFieldText`. */
export const useFieldText = (outside?: string): boolean =>
  useSyncExternalStore(onFieldText, () => hasFieldText(outside));
