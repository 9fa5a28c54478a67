import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { percentile } from './measure.ts';
import type { Figure } from './results.ts';

/** What the main thread of a page did while something happened, in CPU time. */
export interface FrameWork {
  frames: number;
  /** Script, style and layout between the beginning of one frame and the next: what the page itself answers for. */
  p95Ms: number;
  /** All work between them, with painting and the browser's own (messages, layers, the trace itself). */
  allP95Ms: number;
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
  /** The thread's CPU time at `ts`. */
  tts: z.number().optional(),
});
type TraceEvent = z.infer<typeof TraceEvent>;
const Trace = z.object({ traceEvents: z.array(z.unknown()) });

/** With `BENCH_PROFILES`, a folder, the trace of each recording goes there, with a CPU profile, which costs time itself. */
const profiles = process.env.BENCH_PROFILES || undefined;

/**
 * Records what the page's main thread does during `act`, from a trace of Chromium. The page draws frames all the while, so
 * work that changes nothing on the screen belongs to a frame as well.
 */
export async function recordFrames(name: string, page: Page, act: () => Promise<void>): Promise<FrameWork> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('the page has no browser');
  const categories = [
    'devtools.timeline',
    'v8.execute', // microtasks: what reads the stream of events
    'disabled-by-default-devtools.timeline',
    'disabled-by-default-devtools.timeline.frame',
  ];
  if (profiles !== undefined) categories.push('disabled-by-default-v8.cpu_profiler');
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
    { name: `${what}: script and layout for a frame, p95`, value: work.p95Ms, unit: 'ms', baseline, atMost: 8 },
    ...(plain === undefined
      ? []
      : [{ name: `${what}: of that of a plain list`, value: work.p95Ms / plain.p95Ms, unit: 'x' }]),
    { name: `${what}: all work for a frame, p95`, value: work.allP95Ms, unit: 'ms' },
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

/** What the browser does in a task besides running, styling and laying out the page. `RunTask` is what no other event names. */
const NOT_THE_PAGE = new Set([
  ...['RunTask', 'PrePaint', 'Paint', 'Layerize', 'UpdateLayer', 'UpdateLayerTree', 'Commit'],
  ...['CompositeLayers', 'ScrollLayer'],
]);

function frameWork(events: readonly TraceEvent[]): FrameWork {
  const begins = events
    .filter(({ name }) => name === 'BeginMainThreadFrame')
    .map(({ ts }) => ts)
    .toSorted((a, b) => a - b);
  const page = begins.map(() => 0);
  const all = begins.map(() => 0);
  let frame = 0;
  for (const { name, ts, ownMs } of withOwnTime(events)) {
    while (frame + 1 < begins.length && (begins[frame + 1] ?? 0) <= ts) frame += 1;
    all[frame] = (all[frame] ?? 0) + ownMs;
    if (!NOT_THE_PAGE.has(name)) page[frame] = (page[frame] ?? 0) + ownMs;
  }
  const tasks = events.filter(({ name, ph, dur }) => name === 'RunTask' && ph === 'X' && dur !== undefined);
  return {
    frames: begins.length,
    p95Ms: percentile(page, 0.95),
    allP95Ms: percentile(all, 0.95),
    longestTaskMs: tasks.reduce((longest, task) => Math.max(longest, cpuMs(task)), 0),
  };
}

const cpuMs = ({ dur = 0, tdur = dur }: TraceEvent): number => tdur / 1_000;

/** The tasks and what happened in them, in order, each without the time of the events within it. */
function withOwnTime(events: readonly TraceEvent[]): { name: string; ts: number; ownMs: number }[] {
  const spans = joined(events)
    .filter(({ ph, dur }) => ph === 'X' && dur !== undefined)
    .toSorted((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))
    .map((event) => ({ name: event.name, ts: event.ts, end: event.ts + (event.dur ?? 0), ownMs: cpuMs(event) }));
  const open: typeof spans = [];
  const inTasks: typeof spans = [];
  for (const span of spans) {
    while ((open.at(-1)?.end ?? Number.POSITIVE_INFINITY) <= span.ts) open.pop();
    const around = open.at(-1);
    if (around === undefined && span.name !== 'RunTask') continue;
    if (around !== undefined) around.ownMs -= span.ownMs;
    open.push(span);
    inTasks.push(span);
  }
  return inTasks;
}

/** Makes one event of each pair of a beginning and an end, as which V8 tells of microtasks. */
function joined(events: readonly TraceEvent[]): TraceEvent[] {
  const begun: TraceEvent[] = [];
  return events
    .toSorted((a, b) => a.ts - b.ts)
    .flatMap((event) => {
      if (event.ph === 'B') begun.push(event);
      if (event.ph !== 'E') return event.ph === 'B' ? [] : [event];
      const begin = begun.pop();
      if (begin === undefined) return [];
      const dur = event.ts - begin.ts;
      const tdur = event.tts === undefined || begin.tts === undefined ? dur : event.tts - begin.tts;
      return [{ ...begin, ph: 'X', dur, tdur }];
    });
}
