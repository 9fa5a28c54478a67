import { expect, it } from 'vitest';
import { createLoopDelayWindow } from './process-metrics.ts';

/** Plays `monitorEventLoopDelay`; the test supplies the samples. */
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
  /** Adds samples of a 100 ms timer that fires this many milliseconds late. */
  const late = (ms: number, times = 1) => {
    for (const { samples } of histograms) samples.push(...new Array<number>(times).fill((ms + 100) * 1_000_000));
  };
  return { delays, late };
}

it('reports the delay beyond the sampling interval, and 0 before the first sample', () => {
  const { delays, late } = setUp();
  expect(delays.read()).toEqual({ p50Ms: 0, p99Ms: 0, maxMs: 0 });
  late(-0.5); // an early timer counts as no delay
  expect(delays.read()).toEqual({ p50Ms: 0, p99Ms: 0, maxMs: 0 });
  late(1.5, 90);
  late(8, 9);
  late(70);
  expect(delays.read()).toEqual({ p50Ms: 1.5, p99Ms: 8, maxMs: 70 });
});

it('forgets samples after two rolls of its window, and never all at once', () => {
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
