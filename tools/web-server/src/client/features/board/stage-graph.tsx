import type { BoardView, StageId } from '@callboard/contract';
import { ActionIcon, Anchor, Flex, Group, Text } from '@mantine/core';
import { IconArrowsMaximize, IconChevronDown, IconChevronRight, IconMinus, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { memo, useCallback, useId, useMemo, useRef, useState } from 'react';
import { z } from 'zod';
import { boardQuery } from '../../data/queries.ts';
import { withBase } from '../../lib/base-path.ts';
import { readStored, writeStored } from '../../lib/browser-storage.ts';
import { count } from '../../lib/format.ts';
import { ProjectMark, StageIdText } from '../../ui/marks.tsx';
import { Empty, RowButton, Scroll, Table } from '../../ui/primitives.tsx';
import { isFiltering, useBoardFilter } from './board-filter.tsx';
import { BoardCardsProvider, type CardData, useBoardCard, useBoardCards, useBoardData, useCardLinks } from './cards.ts';
import { COLUMN_TITLES } from './columns.ts';
import css from './graph.module.css';
import {
  type GraphLayout,
  graphOf,
  NODE,
  type PlacedEdge,
  relationsOf,
  relationsReader,
  relationsText,
  type StageGraph,
} from './graph-model.ts';
import { type GraphZoom, NODE_LINK, useGraphKeys, useGraphLayout, useGraphZoom, usePan } from './use-graph.ts';

/** The board as a graph: what has to be done first stands to the left. A table beneath says the same. */
export default function StageGraphView() {
  const { filter, save } = useBoardFilter();
  const rows = useBoardCards();
  const onClick = useCardLinks();
  // Structural sharing keeps the graph the same object until a stage, a dependency or the filter changes.
  const select = useCallback((view: BoardView): StageGraph => graphOf(view, save), [save]);
  const { data: graph } = useQuery({ ...boardQuery, select });
  if (graph === undefined) return null;
  if (graph.stageIds.length === 0) return <Empty>{isFiltering(filter) ? 'Nothing matches' : 'No stages yet'}</Empty>;
  return (
    <BoardCardsProvider value={rows}>
      <Flex direction="column" flex={1} mih={0} onClick={onClick} style={{ borderTop: '1px solid var(--line)' }}>
        <Graph graph={graph} />
        <GraphTable stageIds={graph.stageIds} />
      </Flex>
    </BoardCardsProvider>
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

interface GraphCanvasProps {
  /** In the order in which Tab reaches them. */
  stageIds: readonly StageId[];
  layout: GraphLayout;
  scale: number;
  /** The stage whose dependencies stand out. */
  shown: string | null;
}

/** The drawn graph: lines beneath, stages as links in their places. */
function GraphCanvas({ stageIds, layout, scale, shown }: GraphCanvasProps) {
  const { width, height, places, edges, looseTop } = layout;
  return (
    <div className={css.room} style={{ width: width * scale, height: height * scale }}>
      <div style={{ position: 'relative', width, height, transform: `scale(${scale})`, transformOrigin: '0 0' }}>
        <Edges width={width} height={height} edges={edges} shown={shown} />
        {looseTop !== null && edges.length > 0 && (
          <Text size="xs" c="var(--faint)" pos="absolute" left={24} top={looseTop}>
            No dependencies
          </Text>
        )}
        <Nodes stageIds={stageIds} places={places} />
      </div>
    </div>
  );
}

type NodesProps = Pick<GraphLayout, 'places'> & Pick<GraphCanvasProps, 'stageIds'>;

/** A new stage appears once it is laid out. */
const Nodes = memo(function Nodes({ stageIds, places }: NodesProps) {
  return (
    <ul className={css.nodes}>
      {stageIds.map((stageId) => {
        const place = places[stageId];
        if (place === undefined) return null;
        return (
          <li key={stageId} style={{ left: place.x, top: place.y, ...NODE }}>
            <Node stageId={stageId} />
          </li>
        );
      })}
    </ul>
  );
});

/** One stage: where it stands, and what it waits for. */
const Node = memo(function Node({ stageId }: { stageId: StageId }) {
  const card = useBoardCard(stageId);
  const relations = useBoardData(useMemo(() => relationsReader(stageId), [stageId]));
  if (card === undefined || relations === undefined) return null;
  const { stage, project } = card;
  const { text, tone } = nodeText(card, relations.waitsFor);
  const link = { 'data-card': stage.id, [NODE_LINK]: stage.id };
  return (
    <a
      {...link}
      className={css.node}
      href={withBase(`/stages/${stage.id}`)}
      data-column={stage.column}
      draggable={false}
      aria-describedby={`${stage.id}-relations`}
    >
      <span className="flex-row">
        <ProjectMark name={project} />
        <span className={css.title}>{stage.title}</span>
      </span>
      <span className={css.line}>
        <span className={css.words} data-tone={tone}>
          {text}
        </span>
        <StageIdText id={stage.id} />
      </span>
      <span hidden id={`${stage.id}-relations`}>
        {relationsText(relations)}
      </span>
    </a>
  );
});

/** The column, or more where a few words say more. */
function nodeText({ stage, text }: CardData, waitsFor: readonly string[]): { text: string; tone: string } {
  if (stage.column === 'backlog' && !stage.held && waitsFor.length > 0)
    return { text: `waits for ${waitsFor.length === 1 ? waitsFor[0] : waitsFor.length}`, tone: 'plain' };
  if (stage.column === 'backlog' && stage.held) return { text: 'On hold', tone: 'plain' };
  if (stage.column === 'done') return { text: text.text, tone: text.tone };
  const { tone } = text;
  return { text: tone === 'fail' ? 'Failed' : COLUMN_TITLES[stage.column], tone };
}

const selectDone = ({ stages }: BoardView): string[] =>
  stages.filter(({ column }) => column === 'done').map(({ id }) => id);

const LINES = { done: 'var(--line-strong)', open: 'var(--line-control)', shown: 'var(--accent)' } as const;

type EdgesProps = Pick<GraphLayout, 'width' | 'height' | 'edges'> & Pick<GraphCanvasProps, 'shown'>;

/** Lines from what has to be done first to what waits; those that still hold something up are stronger. */
const Edges = memo(function Edges({ width, height, edges, shown }: EdgesProps) {
  const { data = [] } = useQuery({ ...boardQuery, select: selectDone });
  const done = new Set(data);
  return (
    <svg style={{ position: 'absolute', inset: 0, overflow: 'visible' }} width={width} height={height} aria-hidden>
      <defs>
        {(['done', 'open', 'shown'] as const).map((kind) => (
          <marker
            key={kind}
            id={`arrow-${kind}`}
            viewBox="0 0 6 6"
            refX="5"
            refY="3"
            markerWidth="8"
            markerHeight="8"
            orient="auto"
            markerUnits="userSpaceOnUse"
          >
            <path d="M0 0 6 3 0 6Z" fill={LINES[kind]} />
          </marker>
        ))}
      </defs>
      {edges.map((edge) => {
        const isShown = edge.from === shown || edge.to === shown;
        const kind = isShown ? 'shown' : done.has(edge.from) ? 'done' : 'open';
        return (
          <path
            key={`${edge.from} ${edge.to}`}
            d={curve(edge)}
            fill="none"
            stroke={LINES[kind]}
            strokeWidth={isShown ? 2 : 1.5}
            data-kind={kind}
            markerEnd={`url(#arrow-${kind})`}
          />
        );
      })}
    </svg>
  );
});

/** A smooth line through the points of an edge, level at each of them. */
function curve({ points }: PlacedEdge): string {
  const at = (x: number, y: number) => `${Math.round(x)} ${Math.round(y)}`;
  return points
    .map(({ x, y }, index) => {
      const before = points[index - 1];
      if (before === undefined) return `M${at(x, y)}`;
      const middle = (before.x + x) / 2;
      return `C${at(middle, before.y)} ${at(middle, y)} ${at(x, y)}`;
    })
    .join('');
}

const OPEN = 'callboard-graph-table';

/** The graph as a table, folded until a person opens it. */
function GraphTable({ stageIds }: { stageIds: readonly StageId[] }) {
  const [isOpen, setIsOpen] = useState(() => readStored(OPEN, z.boolean(), false));
  const id = useId();
  const Icon = isOpen ? IconChevronDown : IconChevronRight;
  const toggle = () => {
    writeStored(OPEN, !isOpen);
    setIsOpen(!isOpen);
  };
  return (
    <div className={css.below}>
      <RowButton flex="none" px={12} c="dimmed" aria-expanded={isOpen} aria-controls={id} onClick={toggle}>
        <Icon size={16} aria-hidden /> Table of {count(stageIds.length, 'stage')}
      </RowButton>
      {isOpen && (
        <Scroll id={id} aria-label="Table of dependencies">
          <Dependencies stageIds={stageIds} />
        </Scroll>
      )}
    </div>
  );
}

function Dependencies({ stageIds }: { stageIds: readonly StageId[] }) {
  const select = useCallback((view: BoardView) => rowsOf(view, stageIds), [stageIds]);
  const { data: rows = [] } = useQuery({ ...boardQuery, select });
  return (
    <Table miw={720}>
      <thead>
        <tr>
          {['Stage', 'Column', 'Waits for', 'Done before it', 'Blocks'].map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ stageId, title, column, waitsFor, after, blocks }) => (
          <tr key={stageId}>
            <th scope="row">
              <Anchor
                data-card={stageId}
                href={withBase(`/stages/${stageId}`)}
                c="var(--text)"
                display="inline-block"
                mih="var(--touch)"
                style={{ alignContent: 'center' }}
              >
                {title}
              </Anchor>
            </th>
            <td data-tone={column === 'needs-you' ? 'needs' : undefined}>{COLUMN_TITLES[column]}</td>
            <td>{waitsFor.join(', ')}</td>
            <td>{after.join(', ')}</td>
            <td>{blocks.join(', ')}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function rowsOf(view: BoardView, stageIds: readonly StageId[]) {
  const stages = new Map(view.stages.map((stage) => [stage.id, stage]));
  return stageIds.flatMap((stageId) => {
    const stage = stages.get(stageId);
    return stage === undefined
      ? []
      : [{ stageId, title: stage.title, column: stage.column, ...relationsOf(view, stageId) }];
  });
}

/** What the stage under the pointer, or with the focus, waits for and blocks. Its link says the same to a screen reader. */
function Relation({ stageId }: { stageId: string | null }) {
  const select = useCallback(
    (view: BoardView) => {
      const stage = view.stages.find(({ id }) => id === stageId);
      return stage === undefined ? null : { title: stage.title, text: relationsText(relationsOf(view, stage.id)) };
    },
    [stageId],
  );
  const { data: relation } = useQuery({ ...boardQuery, select });
  return (
    <p className={css.relation} aria-hidden>
      {relation == null ? (
        <Text span inherit c="var(--faint)">
          Arrows point to the stages that wait.
        </Text>
      ) : (
        <>
          <strong>{relation.title}</strong> {relation.text}
        </>
      )}
    </p>
  );
}

/** Changes how large the graph is drawn. */
function ZoomButtons({ zoom }: { zoom: GraphZoom }) {
  const buttons = [
    { label: 'Zoom out', keys: '-', Icon: IconMinus, press: zoom.zoomOut },
    { label: 'Zoom in', keys: '+', Icon: IconPlus, press: zoom.zoomIn },
    { label: 'Zoom to fit', keys: '0', Icon: IconArrowsMaximize, press: zoom.fit },
  ];
  return (
    <Group gap="xs" pos="absolute" right={8} bottom={2}>
      {buttons.map(({ label, keys, Icon, press }) => (
        <ActionIcon key={label} variant="subtle" aria-label={label} title={`${label} (${keys})`} onClick={press}>
          <Icon size={16} aria-hidden />
        </ActionIcon>
      ))}
    </Group>
  );
}
