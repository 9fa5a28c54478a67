import { z } from 'zod';
import { figures } from '../measure.ts';
import type { Turn, Written } from './partner.ts';

export const Mark = z.object({
  server: z.enum(['orchestrator', 'web-server', 'supervisor']),
  step: z.string(),
  of: z.string(),
  at: z.number(),
  /** Of a child that has ended; the kernel counts in steps of 10 ms. */
  cpuMs: z.number().optional(),
});
export type Mark = z.infer<typeof Mark>;

/** A step on a way, and the words for its time: from the previous step to its mark. */
interface Step {
  words: string;
  step: string;
  /** Only counts marks of this frame or command. */
  of?: string;
}

const wayIn = (command: string): Step[] => [
  { words: 'client -> web server', step: 'request received' },
  { words: 'web server: read, checked, sent on', step: 'command sent', of: command },
  { words: 'web server -> orchestrator', step: 'command received' },
  { words: 'orchestrator: read, checked', step: 'command dispatched', of: command },
  { words: 'orchestrator: transaction', step: 'commit begun' },
  { words: 'orchestrator: commit', step: 'committed' },
  { words: 'orchestrator: until the line is in the FIFO', step: 'line written' },
];

const wayOut = (event: string): Step[] => [
  { words: 'orchestrator: lines parsed', step: 'lines parsed' },
  { words: 'orchestrator: transaction', step: 'commit begun' },
  { words: 'orchestrator: commit', step: 'committed' },
  { words: 'orchestrator: event sent', step: 'frame sent', of: event.replaceAll('-', '_') },
  { words: 'orchestrator -> web server', step: 'frame received' },
  { words: 'web server: event sent', step: 'event sent', of: event },
];

/** The last step of the way out; the client's own clock ends it. */
const TO_CLIENT = 'web server -> client';

const isOf = ({ step, of }: Step, mark: Mark) => mark.step === step && (of === undefined || mark.of === of);

/** The times on the way of one line; each ends at its step. The time of a step without a mark counts toward the next one. */
type Times = [words: string, ms: number][];

/** From the click onward: each step is the first of its kind after the previous step. */
export function timesIn(marks: readonly Mark[], from: number, command: string): Times {
  let last = from;
  return wayIn(command).flatMap((step): Times => {
    const found = marks.find((mark) => mark.at >= last && isOf(step, mark));
    if (found === undefined) return [];
    const ms = found.at - last;
    last = found.at;
    return [[step.words, ms]];
  });
}

/** Backward from the event at the client: each step is the last of its kind before the following step. */
export function timesOut(marks: readonly Mark[], until: number, event: string): Times {
  let next = until;
  const times: Times = [];
  let words = TO_CLIENT;
  for (const step of [{ words: '', step: 'lines read' }, ...wayOut(event)].toReversed()) {
    const found = marks.findLast((mark) => mark.at <= next && isOf(step, mark));
    if (found === undefined) continue;
    times.unshift([words, next - found.at]);
    words = step.words;
    next = found.at;
  }
  return times;
}

const total = (times: Times): number => times.reduce((sum, [, ms]) => sum + ms, 0);

/** When the line of a command was in the FIFO, and how long the commit before it took; null if a mark is missing. */
export function writtenOf(marks: readonly Mark[], from: number, command: string): Written | null {
  const times = new Map(timesIn(marks, from, command));
  const syncMs = times.get('orchestrator: commit');
  const isWhole = wayIn(command).every(({ words }) => times.has(words));
  if (!isWhole || syncMs === undefined) return null;
  return { writtenAt: from + total([...times]), syncMs };
}

const toRequest = (marks: readonly Mark[], { sentAt, askedAt }: Turn) =>
  wayOf(marks, { from: sentAt, until: askedAt }, 'send_message', 'approval-requested');
const toEnd = (marks: readonly Mark[], { askedAt, endedAt }: Turn) =>
  wayOf(marks, { from: askedAt, until: endedAt }, 'approve_tool', 'session-updated');

/** The time of a turn in which neither Claude Code nor its tool is at work. */
export const ownStepsMs = (marks: readonly Mark[], turn: Turn): number =>
  (toRequest(marks, turn).get(OWN) ?? 0) + (toEnd(marks, turn).get(OWN) ?? 0);

/** Where the time of these turns went: the medians of each step, for the first half (to the request) and the second. */
export function stepsTable(turns: readonly Turn[], marks: readonly Mark[]): Record<string, Record<string, string>> {
  const halves = {
    'message -> request': turns.map((turn) => toRequest(marks, turn)),
    'allow -> end of turn': turns.map((turn) => toEnd(marks, turn)),
  };
  const cell = (ways: readonly ReadonlyMap<string, number>[], row: string): string => {
    const { medianMs } = figures(ways.flatMap((way) => way.get(row) ?? []));
    return Number.isNaN(medianMs) ? '' : medianMs.toFixed(2);
  };
  return Object.fromEntries(
    ROWS.map((row) => [row, Object.fromEntries(Object.entries(halves).map(([half, ways]) => [half, cell(ways, row)]))]),
  );
}

/** The row of a turn without Claude Code and its tool. */
const OWN = 'all but Claude Code';

const ROWS = [
  ...wayIn('').map(({ words }) => `in: ${words}`),
  'Claude Code and its tool',
  ...wayOut('').map(({ words }) => `out: ${words}`),
  `out: ${TO_CLIENT}`,
  'all of it',
  OWN,
];

/** The whole way of one half: in, the CLI, and out. */
function wayOf(
  marks: readonly Mark[],
  { from, until }: { from: number; until: number },
  command: string,
  event: string,
): ReadonlyMap<string, number> {
  const within = marks.filter(({ at }) => at >= from && at <= until);
  const into = timesIn(within, from, command);
  const out = timesOut(within, until, event);
  const ours = total(into) + total(out);
  return new Map<string, number>([
    ...into.map(([words, ms]) => [`in: ${words}`, ms] as const),
    ['Claude Code and its tool', until - from - ours],
    ...out.map(([words, ms]) => [`out: ${words}`, ms] as const),
    ['all of it', until - from],
    [OWN, ours],
  ]);
}
