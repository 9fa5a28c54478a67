import type { StageId } from '@callboard/contract';
import { Graph, layout } from '@dagrejs/dagre';
import { type GraphLayout, NODE, type Point, type StageGraph } from './graph-model.ts';

const GAP = 16;
/** Between a stage and what waits for it. */
const RANK_GAP = 56;
const MARGIN = 24;
/** The heading above the stages without dependencies. */
const HEADING = 32;
/** Small parts stand side by side until they are as wide as one of these: the one with which most of the screen is used. */
const SHELF_WIDTHS = [NODE.width, 480, 800, 1_200, 1_600, 2_000, 2_600, 3_400];

/** A part whose stages hang together, from its own top left corner. */
type Part = Pick<GraphLayout, 'width' | 'height' | 'places' | 'edges'>;

/**
 * Places stages from left to right, each after everything it depends on. Parts that do not hang together are laid out
 * alone and stand below or beside each other; the stages without dependencies follow in rows.
 *
 * @param aspect the width of the place where it is shown, divided by its height
 */
export function layOutGraph(graph: StageGraph, aspect: number): GraphLayout {
  const parts = partsOf(graph).map(layOutPart);
  const layouts = SHELF_WIDTHS.map((width) => arrange(graph, parts, width));
  const sizeOf = ({ width, height }: GraphLayout) => Math.max(width / aspect, height);
  return layouts.reduce((best, other) => (sizeOf(other) < sizeOf(best) ? other : best));
}

/** Puts parts that are laid out, and the stages without dependencies, into one picture. */
function arrange({ stageIds, edges }: StageGraph, parts: readonly Part[], shelfWidth: number): GraphLayout {
  const widest = Math.max(shelfWidth, ...parts.map(({ width }) => width));
  const shelves = shelve(parts, widest);
  const isLinked = new Set(edges.flat());
  const loose = stageIds.filter((id) => !isLinked.has(id));
  const looseTop = loose.length === 0 ? null : shelves.height === 0 ? MARGIN : MARGIN + shelves.height + GAP;
  const rows = inRows(loose, widest, (looseTop ?? 0) + HEADING);
  const all = [...shelves.placed, rows];
  return {
    width: Math.max(...all.map(({ x, part }) => x + part.width), NODE.width + MARGIN) + MARGIN,
    height: Math.max(...all.map(({ y, part }) => y + part.height), NODE.height + MARGIN) + MARGIN,
    places: Object.assign({}, ...all.map(({ x, y, part }) => moved(part.places, x, y))),
    edges: shelves.placed.flatMap(({ x, y, part }) =>
      part.edges.map((edge) => ({ ...edge, points: edge.points.map((point) => ({ x: point.x + x, y: point.y + y })) })),
    ),
    looseTop,
  };
}

const moved = (places: GraphLayout['places'], x: number, y: number) =>
  Object.fromEntries(Object.entries(places).map(([id, place]) => [id, { x: place.x + x, y: place.y + y }]));

/** The parts that hang together, in the order of their first stages. */
function partsOf({ stageIds, edges }: StageGraph): StageGraph[] {
  const next = new Map<StageId, StageId[]>();
  const link = (from: StageId, to: StageId) => next.set(from, [...(next.get(from) ?? []), to]);
  for (const [from, to] of edges) {
    link(from, to);
    link(to, from);
  }
  const partOf = new Map<StageId, number>();
  for (const [index, id] of stageIds.entries()) {
    const waiting = partOf.has(id) || !next.has(id) ? [] : [id];
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      if (partOf.has(one)) continue;
      partOf.set(one, index);
      waiting.push(...(next.get(one) ?? []));
    }
  }
  const byPart = Map.groupBy(
    stageIds.filter((id) => partOf.has(id)),
    (id) => partOf.get(id),
  );
  const edgesByPart = Map.groupBy(edges, ([from]) => partOf.get(from));
  return [...byPart].map(([part, ids]) => ({ stageIds: ids, edges: edgesByPart.get(part) ?? [] }));
}

function layOutPart({ stageIds, edges }: StageGraph): Part {
  const graph = new Graph();
  // Among the fastest, and as compact as the best, for hundreds of stages.
  graph.setGraph({ rankdir: 'LR', ranker: 'tight-tree', nodesep: GAP, ranksep: RANK_GAP });
  for (const id of stageIds) graph.setNode(id, { ...NODE });
  for (const [from, to] of edges) graph.setEdge(from, to, {});
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  const inReadingOrder = stageIds
    .map((id) => ({ id, x: graph.node(id).x, y: graph.node(id).y }))
    .sort((a, b) => a.x - b.x || a.y - b.y);
  return {
    width,
    height,
    places: Object.fromEntries(inReadingOrder.map(({ id, x, y }) => [id, corner({ x, y })])),
    edges: edges.map(([from, to]) => ({ from, to, points: pointsOf(graph, from, to) })),
  };
}

const corner = ({ x, y }: Point): Point => ({ x: x - NODE.width / 2, y: y - NODE.height / 2 });

/** From the right side of the one to the left side of the other, between all that stands in between. */
function pointsOf(graph: Graph, from: string, to: string): Point[] {
  const [start, end] = [graph.node(from), graph.node(to)];
  const between = graph.edge(from, to).points.slice(1, -1);
  return [
    { x: start.x + NODE.width / 2, y: start.y },
    // The only point of an edge from one rank to the next would be a needless bend.
    ...(between.length > 1 ? between.map(({ x, y }: Point) => ({ x, y })) : []),
    { x: end.x - NODE.width / 2, y: end.y },
  ];
}

interface PlacedPart extends Point {
  part: Part;
}

/** Fills shelves from the left, each as high as its highest part. */
function shelve(parts: readonly Part[], widest: number): { placed: PlacedPart[]; height: number } {
  const placed: PlacedPart[] = [];
  let [x, y, high] = [0, 0, 0];
  for (const part of parts) {
    if (x > 0 && x + part.width > widest) [x, y, high] = [0, y + high + GAP * 2, 0];
    placed.push({ x: MARGIN + x, y: MARGIN + y, part });
    x += part.width + RANK_GAP;
    high = Math.max(high, part.height);
  }
  return { placed, height: y + high };
}

function inRows(stageIds: readonly string[], widest: number, top: number): PlacedPart {
  const across = Math.max(1, Math.floor((widest + GAP) / (NODE.width + GAP)));
  const places = Object.fromEntries(
    stageIds.map((id, index) => [
      id,
      { x: (index % across) * (NODE.width + GAP), y: Math.floor(index / across) * (NODE.height + GAP) },
    ]),
  );
  const rows = Math.ceil(stageIds.length / across);
  const width = Math.min(across, stageIds.length) * (NODE.width + GAP);
  return { x: MARGIN, y: top, part: { width, height: rows * (NODE.height + GAP), places, edges: [] } };
}
