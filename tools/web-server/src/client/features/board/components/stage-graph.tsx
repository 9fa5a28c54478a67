import type { BoardView, StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useRef, useState } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { useBoardFilter } from '../api/use-board-filter.ts';
import { BoardRowsProvider, useBoardRows } from '../api/use-card.ts';
import { useGraphKeys } from '../api/use-graph-keys.ts';
import { useGraphLayout } from '../api/use-graph-layout.ts';
import { useGraphZoom } from '../api/use-graph-zoom.ts';
import { usePan } from '../api/use-pan.ts';
import { useRowLinks } from '../api/use-row-links.ts';
import { isFiltering } from '../model/filter.ts';
import type { GraphLayout } from '../model/graph-layout.ts';
import { graphOf, type StageGraph } from '../model/stage-graph.ts';
import css from './graph.module.css';
import { GraphCanvas } from './graph-canvas.tsx';
import { GraphTable } from './graph-table.tsx';
import { Relation, ZoomButtons } from './graph-tools.tsx';

/** The board as a graph: what has to be done first stands to the left. A table beneath says the same. */
export default function StageGraphView() {
  const { filter, save } = useBoardFilter();
  const rows = useBoardRows();
  const onClick = useRowLinks();
  // Structural sharing keeps the graph the same object until a stage, a dependency or the filter changes.
  const select = useCallback((view: BoardView): StageGraph => graphOf(view, save), [save]);
  const { data: graph } = useQuery({ ...boardQuery, select });
  if (graph === undefined) return null;
  if (graph.stageIds.length === 0)
    return <p className={css.none}>{isFiltering(filter) ? 'Nothing matches' : 'No stages yet'}</p>;
  return (
    <BoardRowsProvider value={rows}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it only follows the links within */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: it only follows the links within */}
      <div className={css.page} onClick={onClick}>
        <Graph graph={graph} />
        <GraphTable stageIds={graph.stageIds} />
      </div>
    </BoardRowsProvider>
  );
}

/** The stages that are laid out and are there still, in the order in which they are read. */
function stagesIn(layout: GraphLayout | null, { stageIds }: StageGraph): StageId[] {
  const at = new Map(Object.keys(layout?.places ?? {}).map((id, index) => [id, index]));
  const place = (id: StageId) => at.get(id) ?? 0;
  return stageIds.filter((id) => at.has(id)).toSorted((a, b) => place(a) - place(b));
}

function Graph({ graph }: { graph: StageGraph }) {
  const box = useRef<HTMLElement>(null);
  const layout = useGraphLayout(graph, box);
  const order = useMemo(() => stagesIn(layout, graph), [layout, graph]);
  const [shown, setShown] = useState<string | null>(null);
  const zoom = useGraphZoom(box, layout);
  const pan = usePan(box);
  useGraphKeys(layout, order, zoom);
  const check = (target: EventTarget) =>
    setShown(target instanceof Element ? (target.closest<HTMLElement>('[data-node]')?.dataset.node ?? null) : null);
  return (
    <div className={css.graph}>
      <section
        ref={box}
        className={css.box}
        aria-label="Graph of dependencies"
        aria-busy={layout === null}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
        tabIndex={0}
        {...pan}
        onPointerOver={({ target }) => check(target)}
        onPointerLeave={() => setShown(null)}
        onFocus={({ target }) => check(target)}
        onBlur={() => setShown(null)}
      >
        {layout !== null && <GraphCanvas stageIds={order} layout={layout} scale={zoom.scale} shown={shown} />}
      </section>
      <Relation stageId={shown} />
      <ZoomButtons zoom={zoom} />
    </div>
  );
}
