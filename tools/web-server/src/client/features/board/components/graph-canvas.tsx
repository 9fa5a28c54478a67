import type { BoardView, StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { memo, useMemo } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { type CardData, useRowCard, useRowData } from '../api/use-card.ts';
import { NODE_LINK } from '../api/use-graph-keys.ts';
import { COLUMN_TITLES } from '../model/columns.ts';
import { type GraphLayout, NODE, type PlacedEdge } from '../model/graph-layout.ts';
import { relationsReader, relationsText } from '../model/stage-graph.ts';
import css from './graph.module.css';

interface GraphCanvasProps {
  /** In the order in which Tab reaches them. */
  stageIds: readonly StageId[];
  layout: GraphLayout;
  scale: number;
  /** The stage whose dependencies stand out. */
  shown: string | null;
}

/** The drawn graph: lines beneath, stages as links in their places. */
export function GraphCanvas({ stageIds, layout, scale, shown }: GraphCanvasProps) {
  const { width, height, places, edges, looseTop } = layout;
  return (
    <div className={css.room} style={{ width: width * scale, height: height * scale }}>
      <div className={css.canvas} style={{ width, height, transform: `scale(${scale})` }}>
        <Edges width={width} height={height} edges={edges} shown={shown} />
        {looseTop !== null && edges.length > 0 && (
          <p className={css.loose} style={{ top: looseTop }}>
            No dependencies
          </p>
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
  const card = useRowCard(stageId);
  const relations = useRowData(useMemo(() => relationsReader(stageId), [stageId]));
  if (card === undefined || relations === undefined) return null;
  const { stage, project } = card;
  const { text, tone } = nodeText(card, relations.waitsFor);
  const link = { 'data-card': stage.id, [NODE_LINK]: stage.id };
  return (
    <a
      {...link}
      className={css.node}
      href={`/stages/${stage.id}`}
      data-column={stage.column}
      data-tone={tone}
      draggable={false}
      aria-describedby={`${stage.id}-relations`}
    >
      <span className={css.top}>
        <ProjectMark name={project} />
        <span className={css.title}>{stage.title}</span>
      </span>
      <span className={css.line}>
        <span className={css.words}>{text}</span>
        <span className={css.id}>
          <StageIdText id={stage.id} />
        </span>
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

type EdgesProps = Pick<GraphLayout, 'width' | 'height' | 'edges'> & Pick<GraphCanvasProps, 'shown'>;

/** Lines from what has to be done first to what waits; those that still hold something up are stronger. */
const Edges = memo(function Edges({ width, height, edges, shown }: EdgesProps) {
  const { data = [] } = useQuery({ ...boardQuery, select: selectDone });
  const done = new Set(data);
  return (
    <svg className={css.edges} width={width} height={height} aria-hidden>
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
            <path d="M0 0 6 3 0 6Z" data-kind={kind} />
          </marker>
        ))}
      </defs>
      {edges.map((edge) => {
        const isShown = edge.from === shown || edge.to === shown;
        const kind = isShown ? 'shown' : done.has(edge.from) ? 'done' : 'open';
        return (
          <path key={`${edge.from} ${edge.to}`} d={curve(edge)} data-kind={kind} markerEnd={`url(#arrow-${kind})`} />
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
