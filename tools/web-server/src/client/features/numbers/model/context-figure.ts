import type { BoardView } from '@callboard/contract';
import { type Figure, MAX_BARS } from './figures.ts';

/** How full the context of each session was when Claude Code last reported it, the fullest first. */
export function contextFigure({ stages, projects }: Pick<BoardView, 'stages' | 'projects'>): Figure {
  const names = new Map(projects.map(({ id, name }) => [id, name]));
  const used = stages
    .flatMap(({ id, title, projectId, session }) =>
      session?.contextUsage ? [{ id, title, project: names.get(projectId) ?? projectId, ...session.contextUsage }] : [],
    )
    .toSorted((a, b) => b.percentage - a.percentage);
  return {
    chart: {
      measure: 'percent',
      total: used.length,
      series: used.length === 0 ? [] : [{ key: 'used', label: 'Used', check: 1 }],
      bars: used
        .slice(0, MAX_BARS)
        .map(({ id, title, percentage }) => ({ key: id, label: title, parts: { used: percentage } })),
    },
    table: {
      columns: [
        { title: 'Stage', file: 'stage', measure: 'text' },
        { title: 'Project', file: 'project', measure: 'text' },
        { title: 'Used', file: 'used_tokens', measure: 'tokens' },
        { title: 'Limit', file: 'limit_tokens', measure: 'tokens' },
        { title: 'Full', file: 'percent', measure: 'percent' },
      ],
      rows: used.map(({ title, project, usedTokens, maxTokens, percentage }) => [
        ...[title, project],
        ...[usedTokens, maxTokens, percentage],
      ]),
    },
  };
}
