/**
 * Put into every page by `addInitScript`: records what a person did, what was on the screen at that moment, and
 * what was sent. It sees only the visible page, and knows nothing about how Callboard decides.
 */
export interface Act {
  at: number;
  kind: 'key' | 'press' | 'move' | 'focus' | 'wheel';
  /** The key, or the text of the button that was pressed. */
  key: string;
  isRepeat: boolean;
  /** The command of the form that received it; empty if none did. */
  onto: string;
  /** The command of the form whose button is beneath, while that button can be pressed. */
  button: string;
  /** Whether a field of the page contains text. A list to choose from (read-only) has no text of a person; a filter keeps its text, and counts only while it has the focus (docs/decisions/requests.md). */
  hasText: boolean;
  /** The commands of the forms on the screen, and since when each is there. */
  shown: Record<string, number>;
  /** The same for rows of a list that have buttons of their own. */
  rows: Record<string, number>;
}

export interface Sent {
  at: number;
  requestId: string;
  /** The act that the browser turned into a click, or the key. */
  by: 'key' | 'press';
  /** The index of the act that started it. */
  act: number;
}

export interface Witness {
  /** When the page was loaded: each load begins a new record. */
  loadedAt: number;
  acts: Act[];
  sent: Sent[];
}

/** The state that the parts of the witness share, in the page. */
interface Shared {
  witness: Witness;
  /** The command of the form around an element; empty if there is none. */
  commandOf(element: Element | null): string;
  /** The commands of the forms on the screen, and since when each is there. */
  shown: Record<string, number>;
  rows: Record<string, number>;
  /** The act before the next message to the server. */
  last: { by: Sent['by']; act: number };
}

// Each of these functions runs in the page: it may use nothing from outside but the global `witnessed`.
declare const witnessed: Shared;

function watchForms(): void {
  const seen: Witness = { loadedAt: performance.timeOrigin, acts: [], sent: [] };
  const shown: Record<string, number> = {};
  const rows: Record<string, number> = {};
  const commandIn = (part: Element | null) => /touch [\w-]+\.txt/.exec(part?.textContent ?? '')?.[0] ?? '';
  const commandOf = (element: Element | null) => {
    const dialog = element?.closest('[role="dialog"]');
    const below = element?.closest('header')?.nextElementSibling;
    const form = element?.closest('form') ?? (below?.matches('form') === true ? below : null);
    return commandIn(form ?? dialog?.querySelector('form') ?? element?.closest('article') ?? null);
  };
  const save = (known: Record<string, number>, now: readonly string[]) => {
    for (const command of now) known[command] ??= performance.now();
    for (const command of Object.keys(known)) if (!now.includes(command)) delete known[command];
  };
  const check = () => {
    const visible = (selector: string) =>
      [...document.querySelectorAll(selector)].filter(
        (part) => part.checkVisibility() && part.closest('[inert]') === null,
      );
    const commands = (parts: readonly Element[]) => parts.map(commandIn).filter((command) => command !== '');
    save(shown, commands(visible('form')));
    save(rows, commands(visible('li')));
  };
  // What is on the screen changes only with the document, its style or its window. To look at every frame, whatever happens,
  // would cost more than the page itself.
  let isDue = false;
  const checkSoon = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      check();
    });
  };
  checkSoon();
  new MutationObserver(checkSoon).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
  });
  for (const change of ['load', 'resize', 'transitionend', 'animationend', 'toggle'])
    window.addEventListener(change, checkSoon, true);
  setInterval(checkSoon, 200); // in case a style changed with none of these
  const shared: Shared = { witness: seen, commandOf, shown, rows, last: { by: 'press', act: -1 } };
  Object.assign(window, { witness: seen, witnessed: shared });
}

function watchActs(): void {
  const { acts } = witnessed.witness;
  const hasText = () =>
    [
      ...document.querySelectorAll<HTMLInputElement>(
        'input:not([type="radio"], [type="checkbox"]), textarea:not([aria-hidden])',
      ),
    ].some(
      (field) =>
        field.value !== '' &&
        !field.readOnly &&
        (field.dataset.shortcut !== 'find' || field === document.activeElement),
    );
  const note = (kind: Act['kind'], event: Event, key = '', isRepeat = false) => {
    const target = event.target instanceof Element ? event.target : null;
    const button = target?.closest('button');
    const isVerdict = /^(Allow|Deny)/.test(button?.textContent ?? '');
    const isOff = button?.disabled === true || button?.getAttribute('aria-disabled') === 'true';
    const onto = witnessed.commandOf(target);
    acts.push({
      at: event.timeStamp,
      kind,
      key,
      isRepeat,
      onto,
      button: isVerdict && !isOff ? onto : '',
      hasText: hasText(),
      shown: { ...witnessed.shown },
      rows: { ...witnessed.rows },
    });
  };
  const begun = new Map<string, number>();
  let pressed = -1;
  let at = '';
  const onKeyDown = (event: KeyboardEvent) => {
    note('key', event, event.key, event.repeat);
    if (!event.repeat) begun.set(event.key, acts.length - 1);
    witnessed.last = { by: 'key', act: event.repeat ? acts.length - 1 : (begun.get(event.key) ?? -1) };
  };
  const onPointerDown = (event: PointerEvent) => {
    note('press', event, event.target instanceof Element ? (event.target.closest('button')?.textContent ?? '') : '');
    pressed = acts.length - 1;
  };
  const onClick = (event: MouseEvent) => {
    const act = event.detail > 0 ? pressed : (begun.get('Enter') ?? begun.get(' ') ?? witnessed.last.act);
    witnessed.last = { by: event.detail > 0 ? 'press' : 'key', act };
  };
  const onPointerMove = (event: PointerEvent) => {
    const place = `${event.screenX} ${event.screenY}`;
    if (place !== at) note('move', event);
    at = place;
  };
  window.addEventListener('keydown', onKeyDown, true);
  window.addEventListener('pointerdown', onPointerDown, true);
  window.addEventListener('click', onClick, true);
  window.addEventListener('keyup', (event) => void setTimeout(() => begun.delete(event.key)), true);
  window.addEventListener('pointermove', onPointerMove, true);
  window.addEventListener('focusin', (event) => note('focus', event), true);
  window.addEventListener('wheel', (event) => note('wheel', event), true);
}

function watchSends(): void {
  const send = window.fetch;
  window.fetch = (input, init) => {
    const url = typeof input === 'string' ? input : input instanceof URL ? input.href : input.url;
    const retried = init?.method === 'POST' ? /\/decisions\/([^/]+)\/allow-and-retry$/.exec(url)?.[1] : undefined;
    const requestId = url.endsWith('/approve')
      ? JSON.parse(String(init?.body)).requestId
      : retried && decodeURIComponent(retried);
    if (requestId !== undefined) witnessed.witness.sent.push({ at: performance.now(), requestId, ...witnessed.last });
    return send(input, init);
  };
}

/** The script for `addInitScript`. */
export const witness = { content: [watchForms, watchActs, watchSends].map((part) => `(${part})();`).join('\n') };
