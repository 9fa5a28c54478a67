import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { percentile } from './measure.ts';
import type { Figure } from './results.ts';

/** What the main thread of a page did while something happened, in CPU time. */
export interface FrameWork {
  frames: number;
  /** Work for a frame: script, style, layout and paint between the beginning of one frame and the next. */
  p95Ms: number;
  /** A person feels a task of more than 50 ms. */
  longestTaskMs: number;
}

const TraceEvent = z.object({
  name: z.string(),
  ph: z.string(),
  pid: z.number(),
  tid: z.number(),
  /** In microseconds, as is `dur`. */
  ts: z.number(),
  dur: z.number().optional(),
  /** The part of `dur` in which the thread had a CPU: the machine is shared. */
  tdur: z.number().optional(),
});
type TraceEvent = z.infer<typeof TraceEvent>;
const Trace = z.object({ traceEvents: z.array(z.unknown()) });

/** With `BENCH_PROFILES`, a folder, the trace of each recording goes there, with a CPU profile, which costs time itself. */
const { BENCH_PROFILES: profiles } = process.env;

/**
 * Records what the page's main thread does during `act`, from a trace of Chromium. The page draws frames all the while, so
 * work that changes nothing on the screen belongs to a frame as well.
 */
export async function recordFrames(name: string, page: Page, act: () => Promise<void>): Promise<FrameWork> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('the page has no browser');
  const categories = ['disabled-by-default-devtools.timeline', 'disabled-by-default-devtools.timeline.frame'];
  if (profiles !== undefined) categories.push('disabled-by-default-v8.cpu_profiler', 'devtools.timeline');
  await page.evaluate(drawFrames);
  await browser.startTracing(page, { categories });
  let trace: Buffer;
  try {
    await act();
  } finally {
    trace = await browser.stopTracing();
    await page.evaluate(() => document.dispatchEvent(new Event('bench-end')));
  }
  if (profiles !== undefined) writeFileSync(join(profiles, `${name.replaceAll(/\W+/g, '-')}.trace.json`), trace);
  const events = Trace.parse(JSON.parse(trace.toString())).traceEvents.flatMap((event) => {
    const read = TraceEvent.safeParse(event);
    return read.success ? [read.data] : [];
  });
  return frameWork(mainThread(events));
}

/** Asks for one frame after another until the recording ends. */
function drawFrames(): void {
  let isOver = false;
  const onFrame = () => {
    if (!isOver) requestAnimationFrame(onFrame);
  };
  document.addEventListener('bench-end', () => {
    isOver = true;
  });
  onFrame();
}

/**
 * The figures of a recording with their goals, beside those of an empty page. Work is processor time, so they hold on a busy
 * machine. @param plain a plain virtual list of equal rows, scrolled as fast: what nothing that scrolls can do without
 */
export function frameFigures(what: string, work: FrameWork, empty: FrameWork, plain?: FrameWork): Figure[] {
  const beside = plain === undefined ? '' : `, plain list ${plain.p95Ms.toFixed(1)} ms`;
  const baseline = `empty ${empty.p95Ms.toFixed(1)} ms${beside}`;
  return [
    { name: `${what}: work for a frame, p95`, value: work.p95Ms, unit: 'ms', baseline, atMost: 8 },
    ...(plain === undefined
      ? []
      : [{ name: `${what}: work for a frame, of that of a plain list`, value: work.p95Ms / plain.p95Ms, unit: 'x' }]),
    { name: `${what}: longest task`, value: work.longestTaskMs, unit: 'ms', atMost: 50 },
    { name: `${what}: frames`, value: work.frames, unit: 'frames' },
  ];
}

/** The events of the main thread that drew the most frames: that of the page. */
function mainThread(events: readonly TraceEvent[]): TraceEvent[] {
  const drawn = new Map<string, number>();
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  for (const event of events)
    if (event.name === 'BeginMainThreadFrame') drawn.set(threadOf(event), (drawn.get(threadOf(event)) ?? 0) + 1);
  const [busiest] = [...drawn].toSorted(([, a], [, b]) => b - a);
  return busiest === undefined ? [] : events.filter((event) => threadOf(event) === busiest[0]);
}

function frameWork(events: readonly TraceEvent[]): FrameWork {
  const begins = events
    .filter(({ name }) => name === 'BeginMainThreadFrame')
    .map(({ ts }) => ts)
    .toSorted((a, b) => a - b);
  const tasks = events
    .filter(({ name, ph, dur }) => name === 'RunTask' && ph === 'X' && dur !== undefined)
    .map(({ ts, dur = 0, tdur = dur }) => ({ ts, ms: tdur / 1_000 }))
    .toSorted((a, b) => a.ts - b.ts);
  const work = begins.map(() => 0);
  let frame = 0;
  for (const { ts, ms } of tasks) {
    while (frame + 1 < begins.length && (begins[frame + 1] ?? 0) <= ts) frame += 1;
    work[frame] = (work[frame] ?? 0) + ms;
  }
  return {
    frames: begins.length,
    p95Ms: percentile(work, 0.95),
    longestTaskMs: tasks.reduce((longest, { ms }) => Math.max(longest, ms), 0),
  };
}
