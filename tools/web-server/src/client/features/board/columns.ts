import {
  type BoardView,
  type Column,
  type StageId,
  type StageView,
  stagesNeedingYou,
  waitingSince,
} from '@callboard/contract';
import { memoizeByObject } from '../../lib/memoize.ts';

export const COLUMN_TITLES: Record<Column, string> = {
  backlog: 'Backlog',
  ready: 'Ready',
  running: 'Running',
  'needs-you': 'Needs you',
  review: 'Review',
  done: 'Done',
};

/** The text of an empty column. */
export const COLUMN_EMPTY: Record<Column, string> = {
  backlog: 'Backlog is empty',
  ready: 'Nothing to start',
  running: 'Nothing running',
  'needs-you': 'Nothing needs you',
  review: 'Nothing to review',
  done: 'Nothing done yet',
};

/** From left to right. */
export const COLUMNS: readonly Column[] = ['backlog', 'ready', 'running', 'needs-you', 'review', 'done'];

/** The order on a phone, which shows one at a time: what needs a person comes first. */
export const PHONE_COLUMNS: readonly Column[] = ['needs-you', 'running', 'review', 'ready', 'backlog', 'done'];

type Save = (stage: StageView) => boolean;
const saveAll: Save = () => true;

/** All columns in display order, made once for each view: every column and key asks for it. */
const sortedColumns = memoizeByObject((view: BoardView): ReadonlyMap<Column, readonly StageView[]> => {
  const waiting = firstAsked(view);
  const since = (stage: StageView) => stage.session?.stateSince ?? stage.createdAt;
  const waits = (stage: StageView) => waiting.get(stage.id) ?? waitingSince(stage);
  const orders: Record<Column, (a: StageView, b: StageView) => number> = {
    backlog: (a, b) => a.priority - b.priority,
    ready: (a, b) => a.priority - b.priority,
    running: (a, b) => a.priority - b.priority || compare(a.session?.startedAt ?? '', b.session?.startedAt ?? ''),
    'needs-you': (a, b) => compare(waits(a), waits(b)),
    review: (a, b) => compare(since(a), since(b)),
    done: (a, b) => compare(b.completedAt ?? '', a.completedAt ?? ''),
  };
  const columns = Map.groupBy(view.stages, ({ column }) => column);
  return new Map(COLUMNS.map((column) => [column, (columns.get(column) ?? []).toSorted(orders[column])]));
});

/** Compares instants as they are written; far cheaper than `localeCompare`. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The stages of a column, in display order. */
export const columnStages = (view: BoardView, column: Column, save: Save = saveAll): StageId[] =>
  (sortedColumns(view).get(column) ?? []).filter(save).map(({ id }) => id);

/** When each stage's oldest open request was made. */
function firstAsked({ pending }: Pick<BoardView, 'pending'>): ReadonlyMap<string, string> {
  const first = new Map<string, string>();
  for (const { stageId, createdAt } of pending) {
    const known = first.get(stageId);
    if (known === undefined || createdAt < known) first.set(stageId, createdAt);
  }
  return first;
}

export const columnCounts = (view: BoardView, save: Save = saveAll): Record<Column, number> => {
  const counts = { backlog: 0, ready: 0, running: 0, 'needs-you': 0, review: 0, done: 0 };
  for (const stage of view.stages) if (save(stage)) counts[stage.column] += 1;
  counts['needs-you'] += countElsewhere(view, save);
  return counts;
};

/** How many stages need a person while their card is in another column. They count in Needs you, and are in the inbox. */
export const countElsewhere = (view: BoardView, save: Save = saveAll): number =>
  stagesNeedingYou(view).filter((stage) => stage.column !== 'needs-you' && save(stage)).length;

/** The stages of one group, from column to column. */
export interface Lane {
  /** Empty for the stages without a group. */
  name: string;
  stages: Readonly<Record<Column, readonly StageId[]>>;
  total: number;
}

/**
 * The group whose lane a stage stands in: its own, or else the epic of an imported id (`STAGE-001` of `STAGE-001-002-003`).
 * Empty if it has neither.
 */
export function laneOf({ id, group }: Pick<StageView, 'id' | 'group'>): string {
  if (group !== null) return group;
  const [, word, epic] = /^([A-Za-z]\w*)-(\d+)(?:-\d+)+$/.exec(id) ?? [];
  return epic === undefined ? '' : `${word}-${epic}`;
}

/** The lanes of the stages that the filter keeps, by name; the stages without a group come last. */
export function lanesOf(view: BoardView, save: (stage: StageView) => boolean): Lane[] {
  const nameOf = new Map(view.stages.map((stage) => [stage.id, laneOf(stage)]));
  const lanes = new Map<string, Record<Column, StageId[]>>();
  for (const column of COLUMNS)
    for (const id of columnStages(view, column, save)) {
      const name = nameOf.get(id) ?? '';
      const lane = lanes.get(name) ?? noStages();
      lane[column].push(id);
      lanes.set(name, lane);
    }
  return [...lanes]
    .map(([name, stages]) => ({ name, stages, total: COLUMNS.reduce((sum, column) => sum + stages[column].length, 0) }))
    .sort(byName);
}

const noStages = (): Record<Column, StageId[]> => ({
  backlog: [],
  ready: [],
  running: [],
  'needs-you': [],
  review: [],
  done: [],
});

const byName = (a: Lane, b: Lane): number =>
  Number(a.name === '') - Number(b.name === '') || a.name.localeCompare(b.name, undefined, { numeric: true });

/** Whether the lane is folded: as a person left it; otherwise it is folded once everything in it is done. */
export const isLaneFolded = (lane: Lane, left: Readonly<Record<string, boolean>>): boolean =>
  left[lane.name] ?? lane.stages.done.length === lane.total;
