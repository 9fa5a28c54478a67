import type { Column, StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { dropOn } from '../model/drop.ts';
import css from './board.module.css';

/** What happens when the card is dropped here. */
export function DropHint({ stageId, column }: { stageId: StageId; column: Column }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  const drop = stage === undefined ? null : dropOn(stage, column);
  if (drop === null || drop.kind === 'nothing') return null;
  return (
    <div className={css.dropHint} data-refused={drop.kind === 'refused'}>
      {drop.words}
    </div>
  );
}
