import type { Page } from 'playwright-core';
import { z } from 'zod';
import { percentile } from './measure.ts';

/** What the main thread of a page did while something happened, in CPU time. */
export interface FrameWork {
  frames: number;
  /** Work for a frame: script, style, layout and paint between the beginning of one frame and the next. */
  p95Ms: number;
  longestTaskMs: number;
  /** Tasks of more than 50 ms, which a person feels. */
  longTasks: number;
}

const LONG_MS = 50;

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

/** Records what the page's main thread does during `act`, from a trace of Chromium. */
export async function recordFrames(page: Page, act: () => Promise<void>): Promise<FrameWork> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('the page has no browser');
  const categories = ['disabled-by-default-devtools.timeline', 'disabled-by-default-devtools.timeline.frame'];
  await browser.startTracing(page, { categories });
  let trace: Buffer;
  try {
    await act();
  } finally {
    trace = await browser.stopTracing();
  }
  const events = Trace.parse(JSON.parse(trace.toString())).traceEvents.flatMap((event) => {
    const read = TraceEvent.safeParse(event);
    return read.success ? [read.data] : [];
  });
  return frameWork(mainThread(events));
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
  const lengths = tasks.map(({ ms }) => ms);
  return {
    frames: begins.length,
    p95Ms: percentile(work, 0.95),
    longestTaskMs: Math.max(0, ...lengths),
    longTasks: lengths.filter((ms) => ms > LONG_MS).length,
  };
}
