import type { Numbers } from '@callboard/contract';
import { addUp, type Column, daysBetween, type Figure, formatDay, MAX_BARS, sumOf } from './figures.ts';
import type { Names } from './names.ts';

export const RULE_VIEWS = ['day', 'rule'] as const;
type RuleView = (typeof RULE_VIEWS)[number];

const USES: Column = { title: 'Let through', file: 'let_through', measure: 'count' };
const SAVED: Column = { title: 'Saved about', file: 'saved_seconds_estimate', measure: 'duration' };

/** How many calls rules let through. */
export const ruledCallsOf = ({ rules }: Numbers): number => sumOf(rules.days, ({ count }) => count);

/** Returns an estimate: as if each call had waited as long as half of the answers took. Null without answers. */
export const savedMs = (numbers: Numbers): number | null =>
  numbers.rules.medianWaitMs === null ? null : ruledCallsOf(numbers) * numbers.rules.medianWaitMs;

/**
 * What rules saved, by day or by rule: time if it can be estimated, else how many calls they let through. A call that several rules let
 * through together counts once by day, and for each of them by rule.
 */
export function rulesFigure(numbers: Numbers, view: RuleView, { projectName }: Names): Figure {
  const { days: calls, uses, texts, medianWaitMs } = numbers.rules;
  const isKnown = medianWaitMs !== null;
  const amountOf = (count: number) => (isKnown ? count * medianWaitMs : count);
  const columns = isKnown ? [USES, SAVED] : [USES];
  const cells = (count: number) => (isKnown ? [count, count * medianWaitMs] : [count]);
  const check = {
    measure: isKnown ? 'duration' : 'count',
    series: uses.length === 0 ? [] : [{ key: 'all', label: isKnown ? 'Saved about' : 'Let through', check: 1 }],
  } as const;
  const bar = (key: string, label: string, count: number) => ({ key, label, parts: { all: amountOf(count) } });
  if (view === 'day') {
    const of = new Map(calls.map(({ day, count }) => [day, count]));
    const days = daysBetween(numbers.from, numbers.to);
    return {
      chart: { ...check, bars: days.map((day) => bar(day, formatDay(day), of.get(day) ?? 0)), total: days.length },
      table: {
        columns: [{ title: 'Day', file: 'day', measure: 'day' }, ...columns],
        rows: [...of].map(([day, count]) => [day, ...cells(count)]),
      },
    };
  }
  const known = new Map(texts.map((text) => [text.ruleId, text]));
  const rules = [
    ...addUp(
      uses,
      ({ ruleId }) => ruleId,
      ({ count }) => count,
    ),
  ].toSorted(([, a], [, b]) => b - a);
  const textOf = (ruleId: string) => known.get(ruleId)?.rule ?? ruleId;
  return {
    chart: {
      ...check,
      bars: rules.slice(0, MAX_BARS).map(([ruleId, count]) => bar(ruleId, textOf(ruleId), count)),
      total: rules.length,
    },
    table: {
      columns: [
        { title: 'Rule', file: 'rule', measure: 'text' },
        { title: 'Project', file: 'project', measure: 'text' },
        ...columns,
      ],
      rows: rules.map(([ruleId, count]) => {
        const projectId = known.get(ruleId)?.projectId;
        return [textOf(ruleId), projectId === undefined ? '' : projectName(projectId), ...cells(count)];
      }),
    },
  };
}
