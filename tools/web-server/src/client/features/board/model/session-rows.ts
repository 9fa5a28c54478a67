import type { BoardView, StageView } from '@callboard/contract';
import { usageOf } from '../../../lib/session-usage.ts';
import { COLUMN_TITLES } from './columns.ts';

export const SORTS = ['stage', 'state', 'time', 'cost', 'context', 'queue'] as const;
export type Sort = (typeof SORTS)[number];

export interface Sorting {
  by: Sort;
  descending: boolean;
}

/** A stage that has a session. */
export type SessionStage = StageView & { session: NonNullable<StageView['session']> };

export function readSorting(params: URLSearchParams): Sorting {
  const by = SORTS.find((sort) => sort === params.get('sort'));
  return by === undefined ? { by: 'time', descending: true } : { by, descending: params.get('order') === 'down' };
}

const hasSession = (stage: StageView): stage is SessionStage => stage.session !== null;

const COMPARE: Record<Sort, (a: SessionStage, b: SessionStage) => number> = {
  stage: (a, b) => a.title.localeCompare(b.title),
  state: (a, b) => COLUMN_TITLES[a.column].localeCompare(COLUMN_TITLES[b.column]),
  time: (a, b) => a.session.stateSince.localeCompare(b.session.stateSince),
  cost: (a, b) => usageOf(a.session).costUsd - usageOf(b.session).costUsd,
  context: (a, b) => (a.session.contextUsage?.percentage ?? -1) - (b.session.contextUsage?.percentage ?? -1),
  queue: (a, b) => a.session.queued - b.session.queued,
};

export function sessionRows({ stages }: BoardView, { by, descending }: Sorting): SessionStage[] {
  const rows = stages.filter(hasSession).sort(COMPARE[by]);
  return descending ? rows.reverse() : rows;
}
