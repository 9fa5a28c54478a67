// Which key, press or tap may decide which request: a machine that knows nothing of the page but what it is told.

/** What is on top: the page, the overlay with its request, or another dialog, below which nothing takes a key. */
export type Top = 'page' | 'overlay' | 'dialog';

export interface Point {
  x: number;
  y: number;
}

/** A drawn form with buttons that decide; drawn a second time, it is another one. */
interface Form {
  id: string;
  /** What it is about: the same for two forms of one request. */
  key: string;
  layer: Exclude<Top, 'dialog'>;
  /** False where only a press decides. */
  takesKeys: boolean;
  /** Since when it is drawn with nothing over it. */
  at: number;
  /** Since when its buttons are on the screen; null while they are not. */
  inViewAt: number | null;
  /** Where the pointer was at that time; null where it has not been seen. */
  pointer: Point | null;
}

/** A key that is held down: which form it may decide, and whether a field held text when it began. */
interface HeldKey {
  formId: string | null;
  hasText: boolean;
}

export interface Arming {
  top: Top;
  forms: readonly Form[];
  /** The one form whose keys decide. */
  armed: string | null;
  /** Whether a person turned to it; false where it only was there for long enough. */
  isTurnedTo: boolean;
  /** What a person has asked to see, and was not drawn yet. */
  turned: { key: string; at: number } | null;
  /** Since when the same forms can be reached. */
  sameAt: number;
  /** The last thing that a person did. */
  actedAt: number;
  /** The person is elsewhere: another window or tab. */
  isAway: boolean;
  pointer: Point | null;
  held: ReadonlyMap<string, HeldKey>;
  /** The form whose enabled button was beneath the last press when it began. */
  pressed: string | null;
}

export type ArmingEvent = { at: number } & (
  | { type: 'drawn'; id: string; key: string; layer: Form['layer']; takesKeys: boolean }
  | { type: 'gone'; id: string }
  /** Its buttons came onto the screen, or left it. */
  | { type: 'view'; id: string; isIn: boolean }
  | { type: 'top'; top: Top }
  /** A person turned to a form, by Tab or an arrow or J and K in it; or to what it is about, which may be drawn next. */
  | { type: 'turned'; id: string }
  | { type: 'asked-for'; key: string }
  /** `over`: the form beneath it, if any. */
  | ({ type: 'pointer'; over: string | null } & Point)
  /** `button`: the form whose enabled button is beneath it; `over`: the form beneath it. */
  | { type: 'press'; over: string | null; button: string | null }
  | { type: 'key-down'; code: string; isRepeat: boolean; hasText: boolean }
  | { type: 'key-up'; code: string }
  /** The page was scrolled; the person left it for another window, or came back; nothing, but time has passed. */
  | { type: 'wheel' | 'left' | 'returned' | 'passed' }
);

/** What is drawn is looked at for so long before anything decides it. */
export const UNREADY_MS = 500;
/** A request that is alone for so long, before somebody who keeps still, is armed by itself. */
const STILL_MS = 1_000;
/** What a person asked for is drawn within this time. */
const ASKED_MS = 1_500;
/** A hand that lies on the mouse moves it that far without meaning to. */
const JITTER_PX = 4;

export const START: Arming = {
  top: 'page',
  forms: [],
  armed: null,
  isTurnedTo: false,
  turned: null,
  sameAt: 0,
  actedAt: 0,
  isAway: false,
  pointer: null,
  held: new Map(),
  pressed: null,
};

/** The state after an event. Time only goes forward: an event that is late counts as happening now. */
export function arming(old: Arming, event: ArmingEvent): Arming {
  const before = settled(old, event.at);
  const after = step(before, event);
  const isSame = reachable(before).join() === reachable(after).join();
  return isSame ? after : { ...after, sameAt: event.at };
}

function step(state: Arming, event: ArmingEvent): Arming {
  switch (event.type) {
    case 'drawn': {
      const { id, key, layer, takesKeys, at } = event;
      const rest = without(state, id);
      const form: Form = { id, key, layer, takesKeys, at, inViewAt: null, pointer: state.pointer };
      return { ...rest, forms: [...rest.forms, form] };
    }
    case 'gone':
      return without(state, event.id);
    case 'view':
      return inView(state, event.id, event.isIn ? event.at : null);
    case 'top':
      return covered(state, event.top, event.at);
    case 'turned':
      return { ...armedIfReachable(state, event.id), actedAt: event.at };
    case 'asked-for':
      return askedFor({ ...state, turned: { key: event.key, at: event.at }, actedAt: event.at }, event.at);
    case 'pointer':
      return pointed(state, event);
    case 'press': {
      const { button, over, at } = event;
      const turned = { ...state, armed: null, turned: null, actedAt: at };
      const pressed = isReady(state, button, at) ? button : null;
      return { ...(over === null ? turned : armedIfReachable(turned, over)), pressed };
    }
    case 'key-down': {
      const { code, isRepeat, hasText, at } = event;
      const isKnown = isRepeat && state.held.has(code);
      const formId = !isRepeat && isKeyReady(state, state.armed, at) ? state.armed : null;
      const held = isKnown ? state.held : new Map(state.held).set(code, { formId, hasText });
      return { ...state, held, actedAt: at };
    }
    case 'key-up': {
      const held = new Map(state.held);
      held.delete(event.code);
      return { ...state, held };
    }
    case 'wheel':
      return { ...state, actedAt: event.at };
    case 'left':
      return { ...state, isAway: true, armed: null, turned: null, held: new Map(), pressed: null };
    case 'returned':
      return { ...state, isAway: false, armed: null, actedAt: event.at };
    case 'passed':
      return state;
    default:
      return event satisfies never;
  }
}

/** What began on a form that is gone is not meant for another one. */
const without = (state: Arming, id: string): Arming => ({
  ...state,
  forms: state.forms.filter((form) => form.id !== id),
  armed: state.armed === id ? null : state.armed,
  pressed: state.pressed === id ? null : state.pressed,
  held: new Map([...state.held].map(([code, key]) => [code, key.formId === id ? { ...key, formId: null } : key])),
});

/** The one form that keys could reach is armed once its time has come. */
function settled(state: Arming, at: number): Arming {
  const lone = loneForm(state);
  if (state.armed !== null || lone === null || at < restedAt(state)) return state;
  return { ...state, armed: lone, isTurnedTo: false };
}

const restedAt = ({ sameAt, actedAt }: Arming) => Math.max(sameAt, actedAt) + STILL_MS;

function loneForm(state: Arming): string | null {
  const [first, second] = reachable(state);
  return first === undefined || second !== undefined || state.isAway ? null : first;
}

/** The forms whose keys could be reached: on the screen, with nothing over them. */
const reachable = ({ forms, top }: Arming): string[] =>
  forms.filter((form) => form.takesKeys && form.layer === top && form.inViewAt !== null).map(({ id }) => id);

function armedIfReachable(state: Arming, id: string): Arming {
  return reachable(state).includes(id) ? { ...state, armed: id, isTurnedTo: true, turned: null } : state;
}

/** What a person asked for is armed as soon as it can be seen. */
function askedFor(state: Arming, at: number): Arming {
  const { turned } = state;
  if (turned === null || at - turned.at > ASKED_MS) return state;
  const form = state.forms.find(({ id, key }) => key === turned.key && reachable(state).includes(id));
  return form === undefined ? state : armedIfReachable(state, form.id);
}

function inView(state: Arming, id: string, inViewAt: number | null): Arming {
  const forms = state.forms.map((form) => (form.id === id ? { ...form, inViewAt, pointer: state.pointer } : form));
  if (inViewAt === null) return { ...state, forms, armed: state.armed === id ? null : state.armed };
  return askedFor({ ...state, forms }, inViewAt);
}

/** What comes out from under something is drawn anew. */
function covered(state: Arming, top: Top, at: number): Arming {
  if (top === state.top) return state;
  const forms = state.forms.map((form) => (form.layer === top ? { ...form, at, pointer: state.pointer } : form));
  return askedFor({ ...state, top, forms, armed: null, pressed: null }, at);
}

/** A pointer that was moved onto a form turns to it; one that rests where the form came up does not. */
function pointed(state: Arming, { x, y, over, at }: Point & { over: string | null; at: number }): Arming {
  const last = state.pointer;
  const next = { ...state, pointer: { x, y } };
  if (last !== null && last.x === x && last.y === y) return next;
  next.actedAt = at;
  const form = state.forms.find(({ id }) => id === over);
  if (form === undefined) return next;
  const isFar = form.pointer === null || Math.hypot(form.pointer.x - x, form.pointer.y - y) >= JITTER_PX;
  return isFar ? armedIfReachable(next, form.id) : next;
}

/** Whether the buttons of a form can be pressed. */
export function isReady({ forms, top }: Arming, id: string | null, at: number): boolean {
  const form = forms.find((other) => other.id === id);
  return form !== undefined && form.layer === top && at - form.at >= UNREADY_MS;
}

function isKeyReady(state: Arming, id: string | null, at: number): boolean {
  const form = state.forms.find((other) => other.id === id);
  return isReady(state, id, at) && form?.inViewAt != null && at - form.inViewAt >= UNREADY_MS;
}

/** Whether a key that is pressed now would decide this form. */
export const isArmed = (state: Arming, id: string, at: number): boolean => {
  const now = settled(state, at);
  return now.armed === id && !now.isAway && isKeyReady(now, id, at);
};

/** The keys that press the button which has the focus: what a field holds is not meant by them. */
const PRESSES: ReadonlySet<string> = new Set(['Enter', 'NumpadEnter', 'Space']);

/** Whether this key, which is held down, may decide this form. */
export function keyDecides(state: Arming, id: string, code: string): boolean {
  const key = state.held.get(code);
  return key?.formId === id && reachable(state).includes(id) && (!key.hasText || PRESSES.has(code));
}

/** The key that presses a focused button and is held down, if one is. */
export const pressingKey = ({ held }: Arming): string | null =>
  [...held.keys()].find((code) => PRESSES.has(code)) ?? null;

/** Whether the press that began last may decide this form. */
export const pressDecides = (state: Arming, id: string, at: number): boolean =>
  state.pressed === id && isReady(state, id, at);

/** When something will change by itself; null when nothing will. */
export function nextChange(state: Arming, at: number): number | null {
  const ready = state.forms.flatMap((form) => [form.at + UNREADY_MS, (form.inViewAt ?? form.at) + UNREADY_MS]);
  const rested = state.armed === null && loneForm(state) !== null ? [restedAt(state)] : [];
  const coming = [...ready, ...rested].filter((moment) => moment > at);
  return coming.length === 0 ? null : Math.min(...coming);
}
