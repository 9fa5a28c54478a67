import type { BoardView, StageId, StageView } from '@callboard/contract';
import { memoizeByObject } from '../../lib/memoize.ts';

/** Stages and what they depend on, in a form that can be sent to a worker. */
export interface StageGraph {
  /** In the order of the board. */
  stageIds: readonly StageId[];
  /** From the stage that has to be done first to the one that waits for it. */
  edges: readonly (readonly [from: StageId, to: StageId])[];
}

/** The stages that the filter keeps, and the dependencies between them. */
export function graphOf({ stages }: Pick<BoardView, 'stages'>, save: (stage: StageView) => boolean): StageGraph {
  const saved = stages.filter(save);
  const ids = new Set(saved.map(({ id }) => id));
  return {
    stageIds: [...ids],
    edges: saved.flatMap(({ id, dependsOn }) =>
      [...new Set(dependsOn)].filter((one) => ids.has(one)).map((one) => [one, id] as const),
    ),
  };
}

/** What a stage has to do with others, filtered out or not, by their titles. */
export interface Relations {
  /** What it waits for: dependencies that are not done. An id stands for a stage that does not exist. */
  waitsFor: readonly string[];
  /** What it depends on and is done. */
  after: readonly string[];
  /** The stages that depend on it and are not done. */
  blocks: readonly string[];
}

const indexOf = memoizeByObject(({ stages }: Pick<BoardView, 'stages'>) => {
  const dependents = new Map<string, StageView[]>();
  for (const stage of stages)
    for (const id of new Set(stage.dependsOn)) dependents.set(id, [...(dependents.get(id) ?? []), stage]);
  return { byId: new Map(stages.map((stage) => [String(stage.id), stage])), dependents };
});

export function relationsOf(view: BoardView, stageId: StageId): Relations {
  const { byId, dependents } = indexOf(view);
  const stage = byId.get(stageId);
  const isDone = (id: string) => byId.get(id)?.column === 'done';
  const titleOf = (id: string) => byId.get(id)?.title ?? id;
  const needed = [...new Set(stage?.dependsOn ?? [])];
  return {
    waitsFor: needed.filter((id) => !isDone(id)).map(titleOf),
    after: needed.filter(isDone).map(titleOf),
    blocks:
      stage?.column === 'done'
        ? []
        : (dependents.get(stageId) ?? []).filter(({ column }) => column !== 'done').map(({ title }) => title),
  };
}

/** Reads the relations of a stage, and returns the same object again while nothing in them has changed. */
export function relationsReader(stageId: StageId): (view: BoardView) => Relations {
  let last: Relations | undefined;
  return (view) => {
    const relations = relationsOf(view, stageId);
    if (last === undefined || JSON.stringify(relations) !== JSON.stringify(last)) last = relations;
    return last;
  };
}

const list = new Intl.ListFormat('en');
/** More titles than these are told as a number. */
const MAX_TITLES = 6;

const titles = (all: readonly string[]): string =>
  all.length <= MAX_TITLES
    ? list.format(all)
    : list.format([...all.slice(0, MAX_TITLES), `${all.length - MAX_TITLES} more`]);

/** What waits for what, in sentences. */
export function relationsText({ waitsFor, after, blocks }: Relations): string {
  const sentences = [
    waitsFor.length > 0 && `Waits for ${titles(waitsFor)}.`,
    after.length > 0 && `After ${titles(after)}, which ${after.length === 1 ? 'is' : 'are'} done.`,
    blocks.length > 0 && `Blocks ${titles(blocks)}.`,
  ].filter((sentence) => sentence !== false);
  return sentences.length === 0 ? 'Waits for nothing and blocks nothing.' : sentences.join(' ');
}

/** The size of a stage in the graph, in pixels. */
export const NODE = { width: 208, height: 48 } as const;

export interface Point {
  x: number;
  y: number;
}

export interface PlacedEdge {
  from: string;
  to: string;
  /** From the border of the one stage to the border of the other. */
  points: readonly Point[];
}

/** Where everything stands, in pixels from the top left corner. */
export interface GraphLayout {
  width: number;
  height: number;
  /** By stage, in the order in which they are read: its top left corner. */
  places: Readonly<Record<string, Point>>;
  edges: readonly PlacedEdge[];
  /** Where the stages without dependencies begin; null if there are none. */
  looseTop: number | null;
}
