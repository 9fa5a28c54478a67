import { StageId } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NODE, type StageGraph } from './graph-model.ts';
import { layOutGraph } from './lay-out-graph.ts';
import { nodeAt } from './use-graph.ts';

const id = (n: number) => StageId.parse(`STAGE-${n}`);
const graph = (count: number, edges: readonly (readonly [number, number])[]): StageGraph => ({
  stageIds: Array.from({ length: count }, (_, n) => id(n + 1)),
  edges: edges.map(([from, to]) => [id(from), id(to)]),
});

/** Any stages, each of which depends on some that were made before it: there are no cycles. */
const graphs = fc.array(fc.array(fc.nat(1_000), { maxLength: 3 }), { minLength: 1, maxLength: 40 }).map((stages) =>
  graph(
    stages.length,
    stages.flatMap((before, n) =>
      [...new Set(before.map((one) => one % (n + 1)))].flatMap((one) => (one === 0 ? [] : [[one, n + 1] as const])),
    ),
  ),
);

it('places every stage once, none over another, and each to the right of what it depends on', () => {
  fc.assert(
    fc.property(graphs, (given) => {
      const { places, edges, width, height } = layOutGraph(given, 1.5);
      expect(Object.keys(places).toSorted()).toEqual([...given.stageIds].toSorted());
      expect(edges.map(({ from, to }) => `${from} ${to}`).toSorted()).toEqual(
        given.edges.map((edge) => edge.join(' ')).toSorted(),
      );
      const placed = Object.values(places);
      for (const { x, y } of placed) {
        expect(x >= 0 && y >= 0 && x + NODE.width <= width && y + NODE.height <= height).toBe(true);
        const over = placed.filter(
          (other) => Math.abs(other.x - x) < NODE.width && Math.abs(other.y - y) < NODE.height,
        );
        expect(over).toHaveLength(1);
      }
      for (const [from, to] of given.edges)
        expect((places[to]?.x ?? 0) - (places[from]?.x ?? 0)).toBeGreaterThan(NODE.width);
    }),
    { numRuns: 60 },
  );
});

it('puts stages without dependencies below the others', () => {
  const { places, looseTop } = layOutGraph(graph(4, [[1, 2]]), 2);
  expect(looseTop).toBeGreaterThan((places['STAGE-2']?.y ?? 0) + NODE.height);
  expect(places['STAGE-3']?.y).toBeGreaterThan(looseTop ?? 0);
  expect(places['STAGE-4']?.y).toBe(places['STAGE-3']?.y);
  expect(layOutGraph(graph(2, [[1, 2]]), 2).looseTop).toBeNull();
});

it('moves to the nearest stage in the direction of an arrow key, and along the table with J and K', () => {
  const { stageIds, edges } = graph(4, [
    [1, 2],
    [1, 3],
    [2, 4],
  ]);
  const { places } = layOutGraph({ stageIds, edges }, 1);
  const at = (from: number, key: string) => nodeAt(places, stageIds, `STAGE-${from}`, key);
  expect(['STAGE-2', 'STAGE-3']).toContain(at(1, 'arrowright'));
  expect(at(4, 'arrowleft')).toBe('STAGE-2');
  const upper = (places['STAGE-2']?.y ?? 0) < (places['STAGE-3']?.y ?? 0) ? [2, 3] : [3, 2];
  expect(at(upper[0] ?? 0, 'arrowdown')).toBe(`STAGE-${upper[1]}`);
  expect(at(upper[1] ?? 0, 'arrowup')).toBe(`STAGE-${upper[0]}`);
  expect([at(1, 'arrowleft'), at(1, 'j'), at(1, 'k'), at(1, 'end'), at(4, 'home'), at(1, 'x')]).toEqual([
    ...[null, 'STAGE-2', null],
    ...['STAGE-4', 'STAGE-1', null],
  ]);
});

it('uses the shape of the screen: many small parts are wide on a wide one and high on a high one', () => {
  const pairs = graph(
    40,
    Array.from({ length: 20 }, (_, n) => [2 * n + 1, 2 * n + 2] as const),
  );
  const [wide, high] = [layOutGraph(pairs, 2), layOutGraph(pairs, 0.4)];
  expect(wide.width).toBeGreaterThan(wide.height);
  expect(high.height).toBeGreaterThan(high.width);
});
