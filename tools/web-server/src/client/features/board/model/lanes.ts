import type { BoardView, Column, StageId, StageView } from '@callboard/contract';
import { COLUMNS, columnStages } from './columns.ts';

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
