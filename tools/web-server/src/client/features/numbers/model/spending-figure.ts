import type { Numbers } from '@callboard/contract';
import { addUp, type Column, daysBetween, type Figure, formatDay, MAX_BARS, type Series, sumOf } from './figures.ts';
import type { Names } from './names.ts';

export const SPENDING_VIEWS = ['day', 'project'] as const;
type SpendingView = (typeof SPENDING_VIEWS)[number];
export const SPENDING_MEASURES = ['money', 'tokens'] as const;
type SpendingMeasure = (typeof SPENDING_MEASURES)[number];

type Spent = Numbers['spending']['days'][number];

const COST: Column = { title: 'Cost', file: 'cost_usd', measure: 'money' };
const TOKENS: Column = { title: 'Tokens', file: 'tokens', measure: 'tokens' };
const PROJECT: Column = { title: 'Project', file: 'project', measure: 'text' };

/** So many projects have a look of their own; the rest are one series. */
const MAX_SERIES = 5;
const REST = 'the rest'; // no id of a project has a space

/** What Claude cost, in money or tokens, by day or by project. */
export function spendingFigure(
  { spending }: Pick<Numbers, 'spending'>,
  { view, measure }: { view: SpendingView; measure: SpendingMeasure },
  { projectName }: Names,
): Figure {
  const amountOf = ({ usd, tokens }: Spent) => (measure === 'money' ? usd : tokens);
  const projects = [...addUp(spending.days, ({ projectId }) => projectId, amountOf)].toSorted(([, a], [, b]) => b - a);
  const named = new Map<string, Series>();
  const nameOf = new Map(spending.days.map(({ projectId }) => [String(projectId), projectName(projectId)]));
  for (const [key] of projects.slice(0, MAX_SERIES))
    named.set(key, { key, label: nameOf.get(key) ?? key, check: named.size + 1 });
  const hasRest = projects.length > MAX_SERIES;
  const series = [
    ...named.values(),
    ...(hasRest ? [{ key: REST, label: 'Other projects', check: MAX_SERIES + 1 }] : []),
  ];
  const seriesOf = (projectId: string) => (named.has(projectId) ? projectId : REST);
  if (view === 'project')
    return {
      chart: {
        measure,
        series,
        total: projects.length,
        bars: projects
          .slice(0, MAX_BARS)
          .map(([key, value]) => ({ key, label: nameOf.get(key) ?? key, parts: { [seriesOf(key)]: value } })),
      },
      table: {
        columns: [PROJECT, COST, TOKENS],
        rows: projects.map(([key]) => {
          const of = spending.days.filter(({ projectId }) => projectId === key);
          return [nameOf.get(key) ?? key, sumOf(of, ({ usd }) => usd), sumOf(of, ({ tokens }) => tokens)];
        }),
      },
    };
  const days = daysBetween(spending.from, spending.to);
  const byDay = Map.groupBy(spending.days, ({ day }) => day);
  return {
    chart: {
      measure,
      series,
      total: days.length,
      bars: days.map((day) => ({
        key: day,
        label: formatDay(day),
        parts: Object.fromEntries(addUp(byDay.get(day) ?? [], ({ projectId }) => seriesOf(projectId), amountOf)),
      })),
    },
    table: {
      columns: [{ title: 'Day', file: 'day', measure: 'day' }, PROJECT, COST, TOKENS],
      rows: spending.days.map(({ day, projectId, usd, tokens }) => [day, projectName(projectId), usd, tokens]),
    },
  };
}
