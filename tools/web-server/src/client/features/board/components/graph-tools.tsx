import type { BoardView } from '@callboard/contract';
import { IconArrowsMaximize, IconMinus, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import type { GraphZoom } from '../api/use-graph-zoom.ts';
import { relationsOf, relationsText } from '../model/stage-graph.ts';
import css from './graph.module.css';

/** What the stage under the pointer, or with the focus, waits for and blocks. Its link says the same to a screen reader. */
export function Relation({ stageId }: { stageId: string | null }) {
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
        <span className={css.hint}>An arrow leads from a stage to what waits for it.</span>
      ) : (
        <>
          <strong>{relation.title}</strong> {relation.text}
        </>
      )}
    </p>
  );
}

/** Changes how large the graph is drawn. */
export function ZoomButtons({ zoom }: { zoom: GraphZoom }) {
  const buttons = [
    { label: 'Zoom out', keys: '-', Icon: IconMinus, press: zoom.zoomOut },
    { label: 'Zoom in', keys: '+', Icon: IconPlus, press: zoom.zoomIn },
    { label: 'Zoom to fit', keys: '0', Icon: IconArrowsMaximize, press: zoom.fit },
  ];
  return (
    <div className={css.zoom}>
      {buttons.map(({ label, keys, Icon, press }) => (
        <button key={label} type="button" aria-label={label} title={`${label} (${keys})`} onClick={press}>
          <Icon size={16} aria-hidden />
        </button>
      ))}
    </div>
  );
}
