import { RISK_TEXTS, RiskCode } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { request } from '../../test/samples.ts';
import {
  type Drag,
  dragging,
  FAR_SHARE,
  type FingerEvent,
  FLICK_PX,
  isFar,
  swipeOf,
  whyButtonsOnly,
} from './swipe.tsx';

const WIDTH = 390;
const down = (change: Partial<Extract<FingerEvent, { type: 'down' }>> = {}): FingerEvent => ({
  type: 'down',
  x: 0,
  y: 0,
  at: 0,
  isReady: true,
  scrolls: [],
  ...change,
});
/** A finger that goes there in a straight line, in steps of 16 ms. */
const moves = (x: number, y: number, ms = 480): FingerEvent[] =>
  Array.from({ length: ms / 16 }, (_, nth) => {
    const share = (16 * (nth + 1)) / ms;
    return { type: 'move', x: x * share, y: y * share, at: ms * share };
  });
const after = (events: readonly FingerEvent[]) => events.reduce<Drag | null>(dragging, null);
const swiped = (...events: FingerEvent[]) => {
  const drag = after(events);
  return drag === null ? null : swipeOf(drag, WIDTH);
};

it('allows to the right, denies to the left and snoozes upwards, each from 40 % of the width on', () => {
  expect(swiped(down(), ...moves(160, 10))).toBe('allow');
  expect(swiped(down(), ...moves(-160, -10))).toBe('deny');
  expect(swiped(down(), ...moves(10, -160))).toBe('snooze');
  expect(swiped(down(), ...moves(0, 300))).toBeNull();
  const rest: FingerEvent = { type: 'move', x: 150, y: 0, at: 900 };
  expect(swiped(down(), ...moves(150, 0), rest)).toBeNull();
});

it('takes a shorter flick, but none that is slow at its end', () => {
  expect(swiped(down(), ...moves(100, 0, 96))).toBe('allow');
  expect(swiped(down(), ...moves(60, 0, 48))).toBeNull();
  expect(swiped(down(), ...moves(100, 0, 96), { type: 'move', x: 100, y: 0, at: 300 })).toBeNull();
});

it('is taken back by a finger that goes back, and by a second finger', () => {
  const far = moves(200, 0);
  const back: FingerEvent[] = [496, 512, 528].map((at, nth) => ({ type: 'move', x: 190 - 10 * nth, y: 0, at }));
  expect(swiped(down(), ...far)).toBe('allow');
  expect(swiped(down(), ...far, ...back)).toBeNull();
  expect(swiped(down(), ...far, { type: 'lost' }, { type: 'move', x: 300, y: 0, at: 500 })).toBeNull();
});

it('leaves scrolling alone, and a way that is neither across nor along', () => {
  expect(swiped(down({ scrolls: ['y'] }), ...moves(0, -300))).toBeNull();
  expect(swiped(down({ scrolls: ['y'] }), ...moves(200, 0))).toBe('allow');
  expect(swiped(down({ scrolls: ['x'] }), ...moves(200, 0))).toBeNull();
  expect(swiped(down(), ...moves(200, 180))).toBeNull();
  // What began as scrolling stays it.
  expect(swiped(down(), ...moves(0, 60), { type: 'move', x: 300, y: 60, at: 500 })).toBeNull();
});

const spot = { x: fc.integer({ min: -400, max: 400 }), y: fc.integer({ min: -600, max: 600 }) };
const axes = fc.subarray<'x' | 'y'>(['x', 'y']);
const step = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('down' as const), ...spot, isReady: fc.boolean(), scrolls: axes }),
  },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('move' as const), ...spot }) },
  { weight: 1, arbitrary: fc.constant({ type: 'lost' as const }) },
);
/** Fingers that go anywhere; most go on in their direction. */
const story = fc
  .tuple(
    fc.constantFrom([1, 0.1], [-1, 0.1], [0.1, -1], [0.7, 0.7]),
    fc.array(fc.tuple(step, fc.integer({ min: 1, max: 200 }), fc.nat(9)), { maxLength: 40 }),
  )
  .map(([[right = 0, below = 0], steps]) => {
    let [at, x, y] = [0, 0, 0];
    return steps.map(([one, ms, jump]): FingerEvent => {
      at += ms;
      if (one.type === 'lost') return one;
      const isStep = one.type === 'move' && jump > 0;
      [x, y] = isStep ? [x + (right * Math.abs(one.x)) / 4, y + (below * Math.abs(one.y)) / 4] : [one.x, one.y];
      return { ...one, x, y, at };
    });
  });

it('does nothing unless one finger went far, straight, along what does not scroll, on a card that was ready', () => {
  let decided = 0;
  fc.assert(
    fc.property(story, (events) => {
      let drag: Drag | null = null;
      events.forEach((event, index) => {
        drag = dragging(drag, event);
        const swipe = drag === null ? null : swipeOf(drag, WIDTH);
        if (swipe === null) return;
        decided += 1;
        const past = events.slice(0, index + 1);
        const begin = past.findLastIndex(({ type }) => type === 'down');
        const first = past[begin];
        const [before, last] = past.slice(-2);
        if (first?.type !== 'down' || last?.type !== 'move') throw new Error('no finger');
        const [dx, dy] = [last.x - first.x, last.y - first.y];
        const way = { allow: dx, deny: -dx, snooze: -dy }[swipe];
        expect(past.slice(begin).some(({ type }) => type === 'lost')).toBe(false);
        expect(first.isReady).toBe(true);
        expect(first.scrolls).not.toContain(swipe === 'snooze' ? 'y' : 'x');
        expect(way).toBeGreaterThanOrEqual(Math.min(FLICK_PX, FAR_SHARE * WIDTH));
        expect(Math.abs(swipe === 'snooze' ? dx : dy)).toBeLessThan(way);
        if (before?.type !== 'lost' && last.at - (before?.at ?? 0) > 100)
          expect(way).toBeGreaterThanOrEqual(FAR_SHARE * WIDTH);
      });
    }),
    { numRuns: 3_000 },
  );
  expect(decided).toBeGreaterThan(80);
});

it('shows as meant only what a finger that rests would do', () => {
  fc.assert(
    fc.property(story, (events) => {
      const drag = after(events);
      if (drag === null || !isFar(drag, WIDTH)) return;
      const { x, y, at } = drag.trail.at(-1) ?? drag.from;
      const rested = dragging(drag, { type: 'move', x, y, at: at + 1_000 });
      expect(rested === null ? null : swipeOf(rested, WIDTH)).not.toBeNull();
    }),
  );
});

it('never swipes what is marked, however it is asked', () => {
  const stakes = (code: RiskCode) => [{ code, text: 'Something.', command: null }];
  for (const code of RiskCode.options)
    expect(whyButtonsOnly(request('STAGE-1', 'r', { stakes: stakes(code) }))).toBe(`No swiping: ${RISK_TEXTS[code]}`);
  const marked = [
    { leavesSandbox: { reason: null } },
    { blockedPath: '/etc/hosts' },
    { inputChange: { hook: null, from: {} } },
    { input: { command: 'ls \u202e' } },
    ...['question', 'plan', 'elicitation', 'network'].map((kind) => ({ kind })),
  ];
  for (const change of marked) expect(whyButtonsOnly(request('STAGE-1', 'r', change))).toMatch(/^No swiping/);
  expect(whyButtonsOnly(request('STAGE-1', 'r'))).toBeNull();
});
