import { expect, it } from 'vitest';
import { createLoopDelayWindow } from './loop-delay.ts';

/** As `monitorEventLoopDelay`, where the test says what was measured. */
function setUp() {
  const histograms: { samples: number[] }[] = [];
  const delays = createLoopDelayWindow(() => {
    const histogram = { samples: [] as number[] };
    histograms.push(histogram);
    const sorted = () => histogram.samples.toSorted((a, b) => a - b);
    return {
      get count() {
        return histogram.samples.length;
      },
      get max() {
        return sorted().at(-1) ?? 0;
      },
      percentile: (percentile) => sorted()[Math.ceil((percentile / 100) * histogram.samples.length) - 1] ?? 511,
      enable: () => true,
      disable: () => true,
      reset: () => void histogram.samples.splice(0),
    };
  });
  /** A timer of 100 ms fires so many milliseconds too late. */
  const late = (ms: number, times = 1) => {
    for (const { samples } of histograms) samples.push(...new Array<number>(times).fill((ms + 100) * 1_000_000));
  };
  return { delays, late };
}

it('tells how late the loop is beyond the time between two samples, and nothing before the first', () => {
  const { delays, late } = setUp();
  expect(delays.read()).toEqual({ p50Ms: 0, p99Ms: 0, maxMs: 0 });
  late(-0.5); // a timer that comes early is not late
  expect(delays.read()).toEqual({ p50Ms: 0, p99Ms: 0, maxMs: 0 });
  late(1.5, 90);
  late(8, 9);
  late(70);
  expect(delays.read()).toEqual({ p50Ms: 1.5, p99Ms: 8, maxMs: 70 });
});

it('forgets what is older than two turns of its window, and never all at once', () => {
  const { delays, late } = setUp();
  late(70);
  delays.roll();
  expect(delays.read().maxMs).toBe(70); // it was in both halves
  late(5);
  delays.roll();
  expect(delays.read().maxMs).toBe(5);
  delays.roll();
  delays.roll();
  expect(delays.read().maxMs).toBe(0);
});
