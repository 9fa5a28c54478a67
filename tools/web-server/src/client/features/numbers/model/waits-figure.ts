import { type Numbers, RequestKind } from '@callboard/contract';
import { requestKinds } from '../../interaction/kinds/registry.ts';
import { type Column, daysBetween, type Figure, formatDay, MAX_BARS, type Series, sumOf } from './figures.ts';
import type { Names } from './names.ts';

export const WAIT_VIEWS = ['day', 'stage', 'kind'] as const;
type WaitView = (typeof WAIT_VIEWS)[number];

type Wait = Pick<Numbers['waits']['days'][number], 'kind' | 'count' | 'waitedMs'>;

const WAITED: Column = { title: 'Waited', file: 'waited_seconds', measure: 'duration' };
const REQUESTS: Column = { title: 'Requests', file: 'requests', measure: 'count' };
const AVERAGE: Column = { title: 'On average', file: 'average_seconds', measure: 'duration' };
const KIND: Column = { title: 'Kind', file: 'kind', measure: 'text' };

/** The kinds that waited, each with a look of its own that does not depend on the others. */
const seriesOf = (waits: readonly Wait[]): Series[] =>
  RequestKind.options.flatMap((kind, at) =>
    waits.some((wait) => wait.kind === kind) ? [{ key: kind, label: requestKinds[kind].name, check: at + 1 }] : [],
  );

const waitedOf = (waits: readonly Wait[]): number => sumOf(waits, ({ waitedMs }) => waitedMs);
const countOf = (waits: readonly Wait[]): number => sumOf(waits, ({ count }) => count);
const partsOf = (waits: readonly Wait[]): Record<string, number> =>
  Object.fromEntries(waits.map(({ kind, waitedMs }) => [kind, waitedMs]));
const kindName = (kind: RequestKind): string => requestKinds[kind].name;
const averageOf = (waits: readonly Wait[]): number => waitedOf(waits) / Math.max(1, countOf(waits));

/** How long Claude waited for people, by day, by stage or by kind of request. */
export function waitsFigure({ from, to, waits }: Numbers, view: WaitView, names: Names): Figure {
  if (view === 'day') return byDay(daysBetween(from, to), waits.days);
  if (view === 'stage') return byStage(waits.stages, names);
  return byKind(waits.days);
}

function byDay(days: readonly string[], waits: Numbers['waits']['days']): Figure {
  const of = Map.groupBy(waits, ({ day }) => day);
  return {
    chart: {
      measure: 'duration',
      series: seriesOf(waits),
      total: days.length,
      bars: days.map((day) => ({ key: day, label: formatDay(day), parts: partsOf(of.get(day) ?? []) })),
    },
    table: {
      columns: [{ title: 'Day', file: 'day', measure: 'day' }, KIND, REQUESTS, WAITED],
      rows: waits.map(({ day, kind, count, waitedMs }) => [day, kindName(kind), count, waitedMs]),
    },
  };
}

function byStage(waits: Numbers['waits']['stages'], { titleOf, projectOf }: Names): Figure {
  const stages = [...Map.groupBy(waits, ({ stageId }) => stageId)]
    .map(([stageId, of]) => ({ stageId, of, waitedMs: waitedOf(of) }))
    .toSorted((a, b) => b.waitedMs - a.waitedMs);
  return {
    chart: {
      measure: 'duration',
      series: seriesOf(waits),
      total: stages.length,
      bars: stages
        .slice(0, MAX_BARS)
        .map(({ stageId, of }) => ({ key: stageId, label: titleOf(stageId), parts: partsOf(of) })),
    },
    table: {
      columns: [
        { title: 'Stage', file: 'stage', measure: 'text' },
        { title: 'Project', file: 'project', measure: 'text' },
        ...[KIND, REQUESTS, WAITED],
      ],
      rows: stages.flatMap(({ stageId, of }) =>
        of.map(({ kind, count, waitedMs }) => [
          ...[titleOf(stageId), projectOf(stageId), kindName(kind)],
          ...[count, waitedMs],
        ]),
      ),
    },
  };
}

function byKind(waits: Numbers['waits']['days']): Figure {
  const kinds = [...Map.groupBy(waits, ({ kind }) => kind)].toSorted(([, a], [, b]) => waitedOf(b) - waitedOf(a));
  return {
    chart: {
      measure: 'duration',
      series: seriesOf(waits),
      total: kinds.length,
      bars: kinds.map(([kind, of]) => ({ key: kind, label: kindName(kind), parts: { [kind]: waitedOf(of) } })),
    },
    table: {
      columns: [KIND, REQUESTS, WAITED, AVERAGE],
      rows: kinds.map(([kind, of]) => [kindName(kind), countOf(of), waitedOf(of), averageOf(of)]),
    },
  };
}
