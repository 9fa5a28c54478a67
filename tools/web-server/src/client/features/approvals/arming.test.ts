import { describe, expect, it } from 'vitest';
import { type ArmingEvent, arming, isArmed, keyDecides, pressDecides, START } from './arming.ts';

type Reported = ArmingEvent extends infer E ? (E extends ArmingEvent ? Omit<E, 'at'> : never) : never;

/** Returns the state after these events, each at its time. */
const after = (...reported: readonly (readonly [at: number, event: Reported])[]) =>
  reported.reduce((state, [at, event]) => arming(state, { ...event, at } as ArmingEvent), START);

const drawn = (
  id: string,
  more: Partial<{ layer: 'page' | 'overlay'; takesKeys: boolean; armsAlone: boolean; key: string }> = {},
): Reported => ({
  type: 'drawn',
  id,
  key: `about ${id}`,
  layer: 'page',
  takesKeys: true,
  armsAlone: true,
  ...more,
});
const seen = (id: string): Reported => ({ type: 'view', id, isIn: true });
const pointer = (x: number, over: string | null): Reported => ({ type: 'pointer', x, y: 100, over });
const down = (code: string, more: Partial<{ isRepeat: boolean; hasText: boolean }> = {}): Reported => ({
  type: 'key-down',
  code,
  isRepeat: false,
  hasText: false,
  ...more,
});
const press = (over: string | null, button: string | null = over): Reported => ({ type: 'press', over, button });

const shown = [
  [0, pointer(500, null)],
  [1_000, drawn('x')],
  [1_000, seen('x')],
] as const;

describe('a key', () => {
  it.each([0, 120, 260, 500, 800, 999])('decides nothing %i ms after a form was drawn', (wait) => {
    expect(keyDecides(after(...shown, [1_000 + wait, down('KeyA')]), 'x', 'KeyA')).toBe(false);
  });

  it('decides a form that was alone for a second while the person did nothing', () => {
    expect(keyDecides(after(...shown, [2_000, down('KeyA')]), 'x', 'KeyA')).toBe(true);
  });

  it.each<[string, Reported]>([
    ['a key', down('KeyW')],
    ['a pointer that moves elsewhere', pointer(480, null)],
    ['a press elsewhere', press(null)],
    ['a wheel', { type: 'wheel' }],
    ['another form', drawn('y')],
  ])('must wait a second after %s', (_what, event) => {
    const state = after(...shown, [1_900, event], [1_900, seen('y')]);
    const isAlone = event.type !== 'drawn';
    expect(keyDecides(after(...shown, [1_900, event], [2_000, down('KeyA')]), 'x', 'KeyA')).toBe(!isAlone);
    expect(isArmed(state, 'x', 2_899)).toBe(false);
    expect(isArmed(state, 'x', 2_900)).toBe(isAlone);
  });

  it.each<[string, Reported]>([
    ['a pointer that moved onto it', pointer(400, 'x')],
    ['a press into it', press('x', null)],
    ['Tab', { type: 'turned', id: 'x' }],
    ['J, K or C', { type: 'asked-for', key: 'about x' }],
  ])('decides a form that a person turned to with %s, half a second after it was drawn', (_what, event) => {
    const state = after(...shown, [1_100, event]);
    expect(keyDecides(arming(state, { ...down('KeyA'), at: 1_499 } as ArmingEvent), 'x', 'KeyA')).toBe(false);
    expect(keyDecides(arming(state, { ...down('KeyA'), at: 1_500 } as ArmingEvent), 'x', 'KeyA')).toBe(true);
  });

  it('decides nothing if the pointer rests or trembles where the form appears', () => {
    const state = after(
      [0, pointer(400, null)],
      ...shown.slice(1),
      [1_100, pointer(400, 'x')],
      [1_200, pointer(402, 'x')],
    );
    expect(keyDecides(arming(state, { ...down('KeyA'), at: 1_900 } as ArmingEvent), 'x', 'KeyA')).toBe(false);
  });

  it('decides no form that is drawn while the key is held down', () => {
    const state = after(
      ...shown,
      [2_500, down('KeyA')],
      [2_600, { type: 'gone', id: 'x' }],
      [2_600, drawn('y')],
      [2_600, seen('y')],
      [2_700, { type: 'turned', id: 'y' }],
      [3_900, down('KeyA', { isRepeat: true })],
    );
    expect(keyDecides(state, 'y', 'KeyA')).toBe(false);
    expect(isArmed(state, 'y', 4_000)).toBe(true);
  });

  it('decides nothing while a field holds text, unless it presses a focused button', () => {
    const state = after(...shown, [2_500, down('KeyA', { hasText: true })], [2_500, down('Enter', { hasText: true })]);
    expect(keyDecides(state, 'x', 'KeyA')).toBe(false);
    expect(keyDecides(state, 'x', 'Enter')).toBe(true);
  });

  it('decides nothing behind another form or dialog, nor immediately after that closes', () => {
    const covered = after(...shown, [2_500, { type: 'top', top: 'dialog' }], [4_000, down('KeyA')]);
    expect(keyDecides(covered, 'x', 'KeyA')).toBe(false);
    const back = arming(covered, { type: 'top', top: 'page', at: 5_000 });
    expect(isArmed(back, 'x', 5_999)).toBe(false);
    expect(isArmed(back, 'x', 6_000)).toBe(true);
  });

  it('decides no form off the screen', () => {
    const state = after([1_000, drawn('x')], [1_100, { type: 'turned', id: 'x' }], [3_000, down('KeyA')]);
    expect(keyDecides(state, 'x', 'KeyA')).toBe(false);
  });

  it('decides the one of two forms that a person turned to last', () => {
    const both = [...shown, [1_100, drawn('y')], [1_100, seen('y')]] as const;
    expect(isArmed(after(...both), 'x', 9_000) || isArmed(after(...both), 'y', 9_000)).toBe(false);
    const state = after(
      ...both,
      [1_200, press('x', null)],
      [1_300, { type: 'turned', id: 'y' }],
      [2_000, down('KeyA')],
    );
    expect([keyDecides(state, 'x', 'KeyA'), keyDecides(state, 'y', 'KeyA')]).toEqual([false, true]);
  });

  const passed: Reported = { type: 'passed' };

  it('decides nothing if it went down before the form armed, and the page heard of it only afterwards', () => {
    const state = after(...shown, [2_001, passed], [1_854, down('KeyA')]);
    expect(keyDecides(state, 'x', 'KeyA')).toBe(false);
    expect(isArmed(state, 'x', 2_853)).toBe(false);
    expect(isArmed(state, 'x', 2_854)).toBe(true);
    const other = after(...shown, [2_001, drawn('y')], [2_001, seen('y')], [1_854, down('KeyA')]);
    expect(keyDecides(other, 'x', 'KeyA')).toBe(false);
    const unready = after(...shown, [1_100, { type: 'turned', id: 'x' }], [1_600, passed], [1_499, down('KeyA')]);
    expect(keyDecides(unready, 'x', 'KeyA')).toBe(false);
  });

  it('decides if the form was armed when it went down, however late the page hears of it', () => {
    expect(keyDecides(after(...shown, [2_900, passed], [2_000, down('KeyA')]), 'x', 'KeyA')).toBe(true);
    const turned = after(...shown, [2_900, passed], [1_100, pointer(400, 'x')], [1_500, down('KeyA')]);
    expect(keyDecides(turned, 'x', 'KeyA')).toBe(true);
  });

  it.each<[string, Reported]>([
    ['a pointer that moved onto it', pointer(400, 'x')],
    ['a press into it', press('x', null)],
    ['Tab', { type: 'turned', id: 'x' }],
  ])('decides nothing after %s before it was drawn, if the page heard of that only afterwards', (_what, event) => {
    expect(keyDecides(after(...shown, [950, event], [1_900, down('KeyA')]), 'x', 'KeyA')).toBe(false);
  });

  it('decides the form of a row only if a person turned to it, however long it is there alone', () => {
    const row = [
      [1_000, drawn('x', { armsAlone: false })],
      [1_000, seen('x')],
    ] as const;
    expect(isArmed(after(...row), 'x', 9_000)).toBe(false);
    expect(isArmed(after(...row, [1_100, { type: 'turned', id: 'x' }]), 'x', 1_500)).toBe(true);
  });

  it('decides nothing immediately after a person returns from another window', () => {
    const state = after(...shown, [2_500, { type: 'left' }], [9_000, { type: 'returned' }], [9_001, down('KeyA')]);
    expect(keyDecides(state, 'x', 'KeyA')).toBe(false);
  });

  it('decides a form that a person asked for shortly before it was drawn, and no form drawn much later', () => {
    const ask: Reported = { type: 'asked-for', key: 'about x' };
    const state = after([900, ask], ...shown.slice(1));
    expect(isArmed(state, 'x', 1_500)).toBe(true);
    expect(isArmed(after([900, ask], [3_000, drawn('x')], [3_000, seen('x')]), 'x', 3_500)).toBe(false);
  });
});

describe('a press', () => {
  it('decides the form whose enabled button is under it when it begins', () => {
    expect(pressDecides(after(...shown, [1_500, press('x')]), 'x', 1_501)).toBe(true);
    expect(pressDecides(after(...shown, [1_499, press('x')]), 'x', 2_000)).toBe(false);
    expect(pressDecides(after(...shown, [1_600, press('x', null)]), 'x', 1_601)).toBe(false);
    expect(pressDecides(after(...shown, [1_600, press('x')], [1_700, drawn('y')]), 'y', 2_500)).toBe(false);
  });

  it('decides nothing if it began before the form was drawn long enough, and the page heard of it only afterwards', () => {
    const state = after(...shown, [1_600, { type: 'passed' }], [1_499, press('x')]);
    expect(pressDecides(state, 'x', 1_700)).toBe(false);
  });

  it('decides no form that was uncovered after the press began', () => {
    const covered = after(...shown, [1_600, { type: 'top', top: 'overlay' }], [1_700, press('x')]);
    expect(pressDecides(covered, 'x', 1_701)).toBe(false);
    expect(pressDecides(arming(covered, { type: 'top', top: 'page', at: 1_702 }), 'x', 9_000)).toBe(false);
  });
});
