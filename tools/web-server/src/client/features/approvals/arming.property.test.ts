import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type ArmingEvent,
  arming,
  isArmed,
  keyDecides,
  nextChange,
  pressDecides,
  START,
  swipeDecides,
  UNREADY_MS,
} from './arming.ts';

/** The rules of the interface, derived from the events alone and not from the machine's state. */

const IDS = ['a', 'b'];
const CODES = ['KeyA', 'KeyD', 'Enter', 'Space'];
const id = fc.constantFrom(...IDS);
type Reported = ArmingEvent extends infer E ? (E extends ArmingEvent ? Omit<E, 'at'> : never) : never;
const over = fc.option(id);
const point = { x: fc.integer({ min: 0, max: 20 }), y: fc.integer({ min: 0, max: 20 }) };

const constant = <T extends string>(...values: T[]) => fc.constantFrom(...values);

/**
 * Where forms come up, by how requests present themselves: over the page; beside it, where a page's own form and rows that are
 * armed only by turning may be as well; over it only where a person asked. `any` mixes all of them.
 */
const WAYS = ['any', 'overlay', 'panel', 'quiet'] as const;
type Way = (typeof WAYS)[number];
const often = (weight: number) =>
  fc.oneof({ weight, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) });

/** A form is drawn, with or without everything that makes it reachable. */
const comes = (way: Way) =>
  fc
    .record({
      id,
      key: constant('one', 'two'),
      layer: way === 'panel' ? constant('page') : constant('page', 'page', 'page', 'page', 'overlay'),
      takesKeys: often(5),
      armsAlone: often(4),
      isSeen: often(5),
    })
    .map(({ isSeen, ...form }): Reported[] => {
      const isOver = way !== 'any' && way !== 'panel' && form.layer === 'overlay';
      return [
        ...(isOver && way === 'quiet' ? [{ type: 'asked-for', key: form.key } as const] : []),
        ...(isOver ? [{ type: 'top', top: 'overlay' } as const] : []),
        { type: 'drawn', ...form },
        ...(isSeen ? [{ type: 'view', id: form.id, isIn: true } as const] : []),
      ];
    });
const key = fc.record({
  type: constant('key-down'),
  code: fc.constantFrom(...CODES),
  isRepeat: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  hasText: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const other = fc.oneof(
  fc.record({ type: constant('gone'), id }),
  fc.record({ type: constant('view'), id, isIn: fc.boolean() }),
  fc.record({ type: constant('top'), top: constant('page', 'overlay', 'dialog') }),
  fc.record({ type: constant('turned'), id }),
  fc.record({ type: constant('asked-for'), key: constant('one', 'two') }),
  fc.record({ type: constant('pointer'), over, ...point }),
  fc.record({ type: constant('press'), over, button: over, isTouch: fc.boolean() }),
  fc.record({ type: constant('key-up'), code: fc.constantFrom(...CODES) }),
  fc.record({ type: constant('wheel', 'left', 'returned', 'passed') }),
);

const wait = fc.oneof(fc.integer({ min: 0, max: 400 }), fc.constantFrom(0, 450, 499, 500, 501, 850, 999, 1_000));
const happening = (way: Way) =>
  fc.oneof(
    { weight: 2, arbitrary: comes(way) },
    { weight: 4, arbitrary: key.map((one): Reported[] => [one]) },
    { weight: 5, arbitrary: other.map((one): Reported[] => [one]) },
  );
/** By how much the page hears of an act late. */
const late = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ max: 1_200, min: 1 }) },
);
const ACTS: ReadonlySet<string> = new Set(['key-down', 'key-up', 'pointer', 'press', 'turned', 'asked-for', 'wheel']);
/** Events in the order in which the page hears of them. Acts stay in their order, but can be older than what the page did before. */
const story = (way: Way) =>
  fc.array(fc.tuple(wait, late, happening(way)), { maxLength: 30 }).map((steps) => {
    let now = 0;
    let lastAct = 0;
    return steps.flatMap(([ms, lateMs, reported]) => {
      now += ms;
      return reported.map((one) => {
        if (!ACTS.has(one.type)) return { ...one, at: now } as ArmingEvent;
        lastAct = Math.max(lastAct, now - lateMs);
        return { ...one, at: lastAct } as ArmingEvent;
      });
    });
  });

/** Returns the events since the form became reachable: drawn, in view and uncovered. */
function sinceReachable(past: readonly ArmingEvent[], form: string, isKey: boolean): readonly ArmingEvent[] | null {
  let from: number | null = null;
  let isSeen = false;
  let drawn: { layer: string; takesKeys: boolean } | null = null;
  let top = 'page';
  past.forEach((one, index) => {
    const wasReachable = drawn !== null && drawn.layer === top && (isSeen || !isKey);
    if (one.type === 'drawn' && one.id === form) {
      drawn = one;
      isSeen = false;
    }
    if (one.type === 'gone' && one.id === form) drawn = null;
    if (one.type === 'view' && one.id === form && drawn !== null) isSeen = one.isIn;
    if (one.type === 'top') top = one.top;
    const isReachable = drawn !== null && drawn.layer === top && (isSeen || !isKey) && (drawn.takesKeys || !isKey);
    const isNew = !wasReachable || (one.type === 'drawn' && one.id === form);
    if (isReachable && (isNew || from === null)) from = index;
    if (!isReachable) from = null;
  });
  return from === null ? null : past.slice(from);
}

/** Whether a person turned to it since it became reachable or shortly before, or it was there alone for a second. */
function couldBeArmed(past: readonly ArmingEvent[], form: string, at: number): boolean {
  const since = sinceReachable(past, form, true);
  const [first] = since ?? [];
  if (since === null || first === undefined || at - first.at < UNREADY_MS) return false;
  const isTurning = (one: ArmingEvent) =>
    (one.type === 'turned' && one.id === form) ||
    ((one.type === 'press' || one.type === 'pointer') && one.over === form) ||
    one.type === 'asked-for';
  const turned = [...past].reverse().find((one) => one.type === 'asked-for');
  if (
    since.some((one) => one.at >= first.at && isTurning(one)) ||
    (turned !== undefined && first.at - turned.at <= 1_500)
  )
    return true;
  // The form of a row is armed by turning to it, however long it is there.
  const drawn = [...past].reverse().find((one) => one.type === 'drawn' && one.id === form);
  if (drawn?.type === 'drawn' && !drawn.armsAlone) return false;
  // Nobody turned to it, so it must have been alone, with no action, for a whole second at some time since.
  const acts = since.filter(({ type }) => ['key-down', 'wheel', 'press', 'turned', 'returned'].includes(type));
  const times = acts.map((one) => one.at).filter((one) => one >= first.at);
  const moments = [first.at, ...times.sort((one, other) => one - other), at];
  return moments.some((moment, index) => (moments[index + 1] ?? moment) - moment >= 1_000);
}

it.each(WAYS)('lets no key decide a form that was not armed when the key went down: %s', (way) => {
  let decided = 0;
  fc.assert(
    fc.property(story(way), (events) => {
      let state = START;
      const began = new Map<string, { armed: string[]; hasText: boolean }>();
      events.forEach((one, index) => {
        const past = events.slice(0, index);
        if (one.type === 'key-down' && !(one.isRepeat && began.has(one.code))) {
          const armed = one.isRepeat ? [] : IDS.filter((form) => couldBeArmed(past, form, one.at));
          began.set(one.code, { armed, hasText: one.hasText });
        }
        if (one.type === 'key-up') began.delete(one.code);
        if (one.type === 'left') began.clear();
        // A form drawn since the key went down is another form, even with the same id.
        if (one.type === 'drawn' || one.type === 'gone')
          for (const key of began.values()) key.armed = key.armed.filter((form) => form !== one.id);
        state = arming(state, one);
        for (const code of CODES)
          for (const form of IDS) {
            if (!keyDecides(state, form, code)) continue;
            decided += 1;
            const key = began.get(code);
            expect(key?.armed).toContain(form);
            if (code.startsWith('Key')) expect(key?.hasText).toBe(false);
          }
        expect(IDS.filter((form) => isArmed(state, form, one.at)).length).toBeLessThanOrEqual(1);
      });
    }),
    { numRuns: 3_000 },
  );
  expect(decided).toBeGreaterThan(150);
});

it.each(WAYS)('lets no press decide a form unless its enabled button was under the press when it began: %s', (way) => {
  fc.assert(
    fc.property(story(way), (events) => {
      let state = START;
      let beneath: string | null = null;
      events.forEach((one, index) => {
        if (one.type === 'press') {
          const since = one.button === null ? null : sinceReachable(events.slice(0, index), one.button, false);
          const first = since?.[0];
          beneath = first !== undefined && one.at - first.at >= UNREADY_MS ? one.button : null;
        }
        if ((one.type === 'drawn' || one.type === 'gone') && one.id === beneath) beneath = null;
        state = arming(state, one);
        for (const form of IDS) if (pressDecides(state, form, one.at)) expect(form).toBe(beneath);
      });
    }),
    { numRuns: 3_000 },
  );
});

it.each(WAYS)('lets no swipe decide a form unless it was ready under the finger when it came down: %s', (way) => {
  let decided = 0;
  fc.assert(
    fc.property(story(way), (events) => {
      let state = START;
      let beneath: string | null = null;
      events.forEach((one, index) => {
        if (one.type === 'press') {
          const since = one.over === null ? null : sinceReachable(events.slice(0, index), one.over, false);
          const first = since?.[0];
          beneath = first !== undefined && one.at - first.at >= UNREADY_MS ? one.over : null;
        }
        if ((one.type === 'drawn' || one.type === 'gone') && one.id === beneath) beneath = null;
        if (one.type === 'left') beneath = null;
        state = arming(state, one);
        for (const form of IDS) {
          if (!swipeDecides(state, form, one.at)) continue;
          decided += 1;
          expect(form).toBe(beneath);
        }
      });
    }),
    { numRuns: 3_000 },
  );
  expect(decided).toBeGreaterThan(100);
});

it.each(WAYS)('names the time of the next change, and no verdict changes before it: %s', (way) => {
  fc.assert(
    fc.property(story(way), fc.integer({ min: 0, max: 2_000 }), (events, later) => {
      const state = events.reduce(arming, START);
      const now = events.at(-1)?.at ?? 0;
      const change = nextChange(state, now);
      if (change !== null && now + later >= change) return;
      for (const form of IDS) expect(isArmed(state, form, now + later)).toBe(isArmed(state, form, now));
    }),
  );
});

it('a tap decides exactly what a press of the mouse would, at the same moments', () => {
  fc.assert(
    fc.property(story('any'), fc.boolean(), (events, isTouch) => {
      const verdicts = (reported: readonly ArmingEvent[]) => {
        let state = START;
        return reported.map((event) => {
          state = arming(state, event);
          return IDS.flatMap((form) => [
            pressDecides(state, form, event.at),
            isArmed(state, form, event.at),
            ...CODES.map((code) => keyDecides(state, form, code)),
          ]);
        });
      };
      const all = events.map((event) => (event.type === 'press' ? { ...event, isTouch } : event));
      expect(verdicts(all)).toEqual(verdicts(events));
    }),
  );
});
