import type { Numbers, StageId } from '@callboard/contract';
import { addUp, sumOf, type TableFigure } from './figures.ts';
import type { Names } from './names.ts';

/** A stretch of the time line, as parts of its length. */
export interface Stretch {
  key: string;
  /** Where it begins and how long it is, from 0 to 1. */
  start: number;
  length: number;
  /** It has no end yet. */
  isOpen: boolean;
}

/** One stage: when its processes ran, and when they waited for a person. */
export interface TimelineRow {
  stageId: StageId;
  launches: Stretch[];
  waits: Stretch[];
  /** Within the days that are shown. */
  ranMs: number;
  /** All waits that ended in these days, also those too short to draw. */
  waitedMs: number;
  /** It waits for a person now. */
  isWaiting: boolean;
}

interface Span {
  from: string;
  to: string | null;
}

/** Places the launches and waits of each stage on a line, the stage that ran last first. `now` ends what is open. */
export function timelineRows({ timeline, waits: ended, since, until }: Numbers, now: number): TimelineRow[] {
  const [begin, end] = [Date.parse(since), Date.parse(until)];
  const clip = ({ from, to }: Span) => {
    const start = Math.max(begin, Date.parse(from));
    return { start, end: Math.max(start, Math.min(end, to === null ? now : Date.parse(to))) };
  };
  const stretch = (span: Span): Stretch => {
    const at = clip(span);
    return {
      key: `${span.from} ${span.to}`,
      isOpen: span.to === null,
      start: (at.start - begin) / (end - begin),
      length: (at.end - at.start) / (end - begin),
    };
  };
  const lasted = (spans: readonly Span[]) => sumOf(spans.map(clip), (at) => at.end - at.start);
  const launches = Map.groupBy(timeline.launches.map(spanOf), ({ stageId }) => stageId);
  const waits = Map.groupBy(timeline.waits, ({ stageId }) => stageId);
  const waitedOf = addUp(
    ended.stages,
    ({ stageId }) => stageId,
    ({ waitedMs }) => waitedMs,
  );
  const lastOf = ({ stageId }: TimelineRow) => Math.max(...(launches.get(stageId) ?? []).map((span) => clip(span).end));
  return [...launches]
    .map(([stageId, spans]) => {
      const waited = waits.get(stageId) ?? [];
      return {
        stageId,
        launches: spans.map(stretch),
        waits: waited.map(stretch),
        ranMs: lasted(spans),
        waitedMs: waitedOf.get(stageId) ?? 0,
        isWaiting: waited.some(({ to }) => to === null),
      };
    })
    .toSorted((a, b) => lastOf(b) - lastOf(a));
}

const spanOf = ({ stageId, startedAt, endedAt }: Numbers['timeline']['launches'][number]) => ({
  stageId,
  from: startedAt,
  to: endedAt,
});

/** The launches and waits of the time line as a table, the newest first. */
export function timelineTable({ timeline }: Numbers, { titleOf, projectOf }: Names, now: number): TableFigure {
  const spans = [
    ...timeline.launches.map((launch) => ({ ...spanOf(launch), what: 'Session' })),
    ...timeline.waits.map((wait) => ({ ...wait, what: 'Waited for a person' })),
  ].toSorted((a, b) => b.from.localeCompare(a.from));
  return {
    columns: [
      { title: 'Stage', file: 'stage', measure: 'text' },
      { title: 'Project', file: 'project', measure: 'text' },
      { title: 'What', file: 'what', measure: 'text' },
      { title: 'From', file: 'from', measure: 'time' },
      { title: 'To', file: 'to', measure: 'time' },
      { title: 'Lasted', file: 'seconds', measure: 'duration' },
    ],
    rows: spans.map(({ stageId, what, from, to }) => [
      ...[titleOf(stageId), projectOf(stageId), what, from, to],
      (to === null ? now : Date.parse(to)) - Date.parse(from),
    ]),
  };
}
