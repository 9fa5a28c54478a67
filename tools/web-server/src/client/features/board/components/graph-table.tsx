import type { BoardView, StageId } from '@callboard/contract';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useId, useState } from 'react';
import { z } from 'zod';
import { boardQuery } from '../../../data/queries.ts';
import { readStored, writeStored } from '../../../lib/browser-storage.ts';
import { count } from '../../../lib/format.ts';
import { COLUMN_TITLES } from '../model/columns.ts';
import { relationsOf } from '../model/stage-graph.ts';
import css from './graph.module.css';

const OPEN = 'callboard-graph-table';

/** The graph as a table, folded until a person opens it. */
export function GraphTable({ stageIds }: { stageIds: readonly StageId[] }) {
  const [isOpen, setIsOpen] = useState(() => readStored(OPEN, z.boolean(), false));
  const id = useId();
  const Icon = isOpen ? IconChevronDown : IconChevronRight;
  const toggle = () => {
    writeStored(OPEN, !isOpen);
    setIsOpen(!isOpen);
  };
  return (
    <div className={css.below} data-open={isOpen}>
      <button type="button" className={css.belowHead} aria-expanded={isOpen} aria-controls={id} onClick={toggle}>
        <Icon size={16} aria-hidden /> Table of {count(stageIds.length, 'stage')}
      </button>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
        <section className={css.tableBox} id={id} aria-label="Table of dependencies" tabIndex={0}>
          <Table stageIds={stageIds} />
        </section>
      )}
    </div>
  );
}

function Table({ stageIds }: { stageIds: readonly StageId[] }) {
  const select = useCallback((view: BoardView) => rowsOf(view, stageIds), [stageIds]);
  const { data: rows = [] } = useQuery({ ...boardQuery, select });
  return (
    <table className={css.table}>
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
              <a data-card={stageId} href={`/stages/${stageId}`}>
                {title}
              </a>
            </th>
            <td data-needs={column === 'needs-you'}>{COLUMN_TITLES[column]}</td>
            <td>{waitsFor.join(', ')}</td>
            <td>{after.join(', ')}</td>
            <td>{blocks.join(', ')}</td>
          </tr>
        ))}
      </tbody>
    </table>
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
