import type { BoardView, Column, StageId } from '@callboard/contract';
import { Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { createContext, Fragment, use, useCallback, useState } from 'react';
import { useBoardUi } from '../../data/board-ui.ts';
import { boardQuery } from '../../data/queries.ts';
import { RowButton } from '../../ui/primitives.tsx';
import boardCss from './board.module.css';
import { BoardColumn, CardItem, type ColumnCardsProps, type LanesSlotProps } from './board-columns.tsx';
import { useBoardFilter } from './board-filter.tsx';
import { COLUMN_TITLES, COLUMNS, isLaneFolded, type Lane, lanesOf } from './columns.ts';
import css from './lanes.module.css';

const Lanes = createContext<readonly Lane[]>([]);

/** The six columns, cut into lanes of one group each. The columns stay regions; a lane's head stands across them. */
export default function BoardLanes({ RequestSlot, handlers }: LanesSlotProps) {
  const { save } = useBoardFilter();
  const select = useCallback((view: BoardView) => lanesOf(view, save), [save]);
  const { data: lanes = [] } = useQuery({ ...boardQuery, select });
  const folded = useBoardUi((ui) => ui.folded);
  const phoneColumn = useBoardUi((ui) => ui.phoneColumn);
  const isPhone = useMediaQuery('(max-width: 767px)', false) ?? false;
  const gridTemplateColumns = COLUMNS.map((column) => (folded.includes(column) ? '36px' : 'minmax(156px, 1fr)')).join(
    ' ',
  );
  const gridTemplateRows = `auto auto repeat(${lanes.length}, var(--lane-head) auto) 1fr`;
  return (
    <Lanes value={lanes}>
      <div
        className={`${boardCss.columns} ${css.lanes}`}
        style={isPhone ? { gridTemplateRows } : { gridTemplateColumns, gridTemplateRows }}
        {...handlers}
      >
        {COLUMNS.map((column) => (
          <BoardColumn key={column} column={column} RequestSlot={RequestSlot} CellsSlot={Cells} />
        ))}
        {lanes.map((lane, index) =>
          isPhone && lane.stages[phoneColumn].length === 0 ? null : (
            <LaneHead key={lane.name} lane={lane} index={index} />
          ),
        )}
      </div>
    </Lanes>
  );
}

/** The grid's rows: the heads of the columns, their notes, then a head and the stages of each lane. */
const rowOfHead = (index: number): number => 3 + 2 * index;

const laneName = ({ name }: Lane): string => (name === '' ? 'No group' : name);

function LaneHead({ lane, index }: { lane: Lane; index: number }) {
  const isFolded = useBoardUi(({ lanes }) => isLaneFolded(lane, lanes));
  const { foldLane } = useBoardUi.getState();
  const Icon = isFolded ? IconChevronRight : IconChevronDown;
  const calls = lane.stages['needs-you'].length;
  const running = lane.stages.running.length;
  return (
    <h3 className={css.head} style={{ gridRow: `${rowOfHead(index)} / span 2` }}>
      <RowButton aria-expanded={!isFolded} onClick={() => foldLane(lane.name, !isFolded)}>
        <Icon size={16} aria-hidden />
        <Text span inherit fw={600} truncate>
          {laneName(lane)}
        </Text>
        <Text span size="xs" flex="none" className="faint">
          {lane.stages.done.length} of {lane.total} done
          {running > 0 && `, ${running} running`}
        </Text>
        {calls > 0 && (
          <Text span size="xs" flex="none" fw={600} data-tone="needs">
            {calls === 1 ? '1 needs you' : `${calls} need you`}
          </Text>
        )}
      </RowButton>
    </h3>
  );
}

/** The stages of one column, lane by lane. */
function Cells({ stageIds: _, column, ...row }: ColumnCardsProps) {
  const lanes = use(Lanes);
  const isColumnFolded = useBoardUi((ui) => ui.folded.includes(column));
  const isPhone = useMediaQuery('(max-width: 767px)', false) ?? false;
  const isHidden = isColumnFolded && !isPhone;
  return lanes.map((lane, index) => (
    <Fragment key={lane.name}>{!isHidden && <Cell {...row} lane={lane} column={column} index={index} />}</Fragment>
  ));
}

/** A longer cell begins with so many, and shows all of them when asked: a lane does not scroll on its own. */
const MAX = 40;

interface CellProps extends Omit<ColumnCardsProps, 'stageIds'> {
  lane: Lane;
  column: Column;
  index: number;
}

function Cell({ lane, column, index, ...row }: CellProps) {
  const isFolded = useBoardUi(({ lanes }) => isLaneFolded(lane, lanes));
  const [wantsAll, setWantsAll] = useState(false);
  const all: readonly StageId[] = lane.stages[column];
  const isWanted = useBoardUi(({ wanted }) => wanted !== null && all.indexOf(wanted) >= MAX);
  if (isWanted && !wantsAll) setWantsAll(true);
  const shown = wantsAll ? all : all.slice(0, MAX);
  if (isFolded || all.length === 0) return null;
  return (
    <div className={css.cell} style={{ gridRow: rowOfHead(index) + 1 }}>
      <ul className={boardCss.rows} aria-label={`${laneName(lane)}, ${COLUMN_TITLES[column]}`}>
        {shown.map((stageId) => (
          <CardItem key={stageId} {...row} stageId={stageId} />
        ))}
      </ul>
      {shown.length < all.length && (
        <RowButton c="var(--accent)" fz="xs" onClick={() => setWantsAll(true)}>
          Show {all.length - shown.length} more
        </RowButton>
      )}
    </div>
  );
}
