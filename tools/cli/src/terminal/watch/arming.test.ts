import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createArming } from './watch-keys.ts';

function setUp() {
  let now = 0;
  const arming = createArming(() => now);
  return { arming, wait: (ms: number) => (now += ms) };
}

it('decides nothing by a key within half a second after the request was drawn', () => {
  const { arming, wait } = setUp();
  expect(arming.press(true)).toBe(false);
  arming.drawn();
  wait(499);
  expect(arming.press(true)).toBe(false);
  wait(500);
  expect(arming.press(true)).toBe(true);
});

it('never decides by a key that is held down since before', () => {
  const { arming, wait } = setUp();
  arming.drawn();
  for (let press = 0; press < 100; press += 1) {
    wait(33);
    expect(arming.press(true)).toBe(false);
  }
});

it('decides nothing by a part of what was pasted, nor once something was printed below', () => {
  const { arming, wait } = setUp();
  arming.drawn();
  wait(1_000);
  expect(arming.press(false)).toBe(false);
  wait(1_000);
  arming.covered();
  expect([arming.press(true), arming.isShown()]).toEqual([false, false]);
});

it('decides only after half a second without a key, with the request at the end of the screen', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constantFrom('draw', 'cover', 'press', 'part'), ms: fc.integer({ min: 0, max: 800 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { arming, wait } = setUp();
      let stillMs: number | null = null;
      for (const { do: what, ms } of steps) {
        wait(ms);
        if (stillMs !== null) stillMs += ms;
        if (what === 'draw') {
          arming.drawn();
          stillMs = 0;
        } else if (what === 'cover') {
          arming.covered();
          stillMs = null;
        } else {
          const mayDecide = arming.press(what === 'press');
          expect(mayDecide).toBe(what === 'press' && stillMs !== null && stillMs >= 500);
          if (!mayDecide && stillMs !== null) stillMs = 0;
        }
      }
    }),
  );
});
