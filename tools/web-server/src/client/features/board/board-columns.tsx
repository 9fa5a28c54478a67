import { type BoardView, Column, StageId, type StageView } from '@callboard/contract';
import { ActionIcon } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconChevronsLeft, IconChevronsRight } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual';
import {
  type ComponentType,
  type DragEvent,
  type HTMLAttributes,
  type KeyboardEvent,
  memo,
  type SyntheticEvent,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
} from 'react';
import { Link } from 'react-router';
import { create } from 'zustand';
import { dropOn, showRefusedDrop, useDropCommand } from '../../data/board-commands.ts';
import { useBoardUi } from '../../data/board-ui.ts';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Count } from '../../ui/primitives.tsx';
import css from './board.module.css';
import { isFiltering, useBoardFilter } from './board-filter.tsx';
import { useBoardKeys } from './board-keys.ts';
import { BoardCardsProvider, useBoardCards, useCardLinks } from './cards.ts';
import {
  COLUMN_EMPTY,
  COLUMN_TITLES,
  COLUMNS,
  columnCounts,
  columnStages,
  countElsewhere,
  PHONE_COLUMNS,
} from './columns.ts';
import { type CardSlots, StageCard } from './stage-card.tsx';

export interface LanesSlotProps extends Pick<CardSlots, 'RequestSlot'> {
  /** What moves cards and follows their links; for the element around all columns. */
  handlers: HTMLAttributes<HTMLElement>;
}

interface BoardColumnsProps extends CardSlots {
  /** Draws the columns cut into lanes. */
  LanesSlot?: ComponentType<LanesSlotProps> | undefined;
}

/** The six columns; on a phone one at a time. Dragging a card to another column is a command. */
export function BoardColumns({ RequestSlot, arm, LanesSlot }: BoardColumnsProps) {
  useBoardKeys(arm);
  const cards = useBoardCards();
  const handlers = { ...useCardDrag(), onClick: useCardLinks() };
  return (
    <>
      <ColumnTabs />
      <BoardCardsProvider value={cards}>
        {LanesSlot === undefined ? (
          <div className={css.columns} {...handlers}>
            {COLUMNS.map((column) => (
              <BoardColumn key={column} column={column} RequestSlot={RequestSlot} />
            ))}
          </div>
        ) : (
          <LanesSlot handlers={handlers} RequestSlot={RequestSlot} />
        )}
      </BoardCardsProvider>
      <p hidden id={DRAG_HELP}>
        Press space to lift the stage, the arrow keys to move it to another column, space to drop it and Escape to
        cancel. Dropped on Running it starts, on Done it is completed.
      </p>
      <Said />
    </>
  );
}

/** Tells a screen reader where a lifted card is. */
function Said() {
  const said = useLifted((state) => state.said);
  return (
    <div className="visually-hidden" aria-live="assertive">
      {said}
    </div>
  );
}

/** What a card says of itself while it can be moved; its value is the stage's id. */
const CARD = 'data-movable';
/** The attribute of a column's element; its value is the column. */
const COLUMN = 'data-column';

/**
 * Moves cards to other columns: with the browser's own drag and drop, or with Space and the arrow keys. A drop is a command.
 * These handlers belong to the element around all columns, so that a card costs nothing for being movable.
 */
function useCardDrag() {
  const move = useMove();
  /** Where the pointer went down: a press that begins on a button moves no card. */
  const pressed = useRef<Element | null>(null);
  useEndOfDrag();
  return {
    onPointerDownCapture: ({ target }: SyntheticEvent) => {
      pressed.current = target instanceof Element ? target : null;
      if (useLifted.getState().lifted?.by === 'keys') move.cancel();
    },
    onDragStart: (event: DragEvent) => {
      const stageId = cardOf(event.target);
      if (stageId === null) return;
      if (pressed.current?.closest('button') != null) {
        event.preventDefault();
        return;
      }
      event.dataTransfer.effectAllowed = 'move';
      event.dataTransfer.setData('text/plain', stageId);
      // The browser takes its picture of the card first.
      requestAnimationFrame(() => move.lift(stageId, 'pointer'));
    },
    onDragOver: (event: DragEvent) => {
      if (useLifted.getState().lifted?.by !== 'pointer') return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'move';
      move.over(columnOf(event.target));
    },
    onDragLeave: (event: DragEvent) => {
      if (event.relatedTarget instanceof Node && event.currentTarget.contains(event.relatedTarget)) return;
      if (useLifted.getState().lifted?.by === 'pointer') move.over(null);
    },
    onDrop: (event: DragEvent) => {
      if (useLifted.getState().lifted?.by !== 'pointer') return;
      event.preventDefault();
      move.over(columnOf(event.target));
      move.drop();
    },
    onKeyDown: (event: KeyboardEvent) => {
      const { lifted } = useLifted.getState();
      const isHandled = lifted?.by === 'keys' ? onLiftedKey(event.key, move) : liftByKey(event, move);
      if (!isHandled) return;
      event.preventDefault();
      event.stopPropagation();
    },
    onBlur: () => {
      if (useLifted.getState().lifted?.by === 'keys') move.cancel();
    },
  };
}

type Move = ReturnType<typeof useMove>;

function liftByKey({ key, target, ...event }: KeyboardEvent, move: Move): boolean {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
  if (key !== ' ' || !isPlain || !(target instanceof HTMLElement) || target.dataset.card === undefined) return false;
  const stageId = cardOf(target);
  if (stageId !== null) move.lift(stageId, 'keys');
  return stageId !== null;
}

/** All keys are the lifted card's. */
function onLiftedKey(key: string, move: Move): boolean {
  if (key === 'ArrowLeft') move.step(-1);
  if (key === 'ArrowRight') move.step(1);
  if (key === ' ') move.drop();
  if (key === 'Escape') move.cancel();
  return true;
}

function useMove() {
  const cache = useQueryClient();
  const command = useDropCommand();
  const find = (stageId: string): StageView | undefined =>
    cache.getQueryData(boardQuery.queryKey)?.stages.find(({ id }) => id === stageId);
  const over = (column: Column | null): void => {
    const { lifted, moveOver } = useLifted.getState();
    const stage = lifted === null ? undefined : find(lifted.stageId);
    if (stage === undefined || column === null) {
      moveOver(column, '');
      return;
    }
    const drop = dropOn(stage, column);
    moveOver(column, `${COLUMN_TITLES[column]}. ${drop.kind === 'nothing' ? 'It is there already.' : drop.text}`);
  };
  const cancel = (): void => useLifted.getState().putDown('Nothing was changed.');
  return {
    lift: (stageId: StageId, by: 'keys' | 'pointer'): void => {
      const stage = find(stageId);
      if (stage === undefined) return;
      const text = `${stage.title} is lifted from ${COLUMN_TITLES[stage.column]}.`;
      useLifted.getState().lift({ stageId, by, over: stage.column }, text);
    },
    over,
    step: (by: 1 | -1): void => {
      const column = useLifted.getState().lifted?.over;
      const next = column == null ? undefined : COLUMNS[COLUMNS.indexOf(column) + by];
      if (next !== undefined) over(next);
    },
    drop: (): void => {
      const { lifted, putDown } = useLifted.getState();
      const stage = lifted === null ? undefined : find(lifted.stageId);
      if (lifted === null || stage === undefined || lifted.over === null) {
        cancel();
        return;
      }
      const drop = dropOn(stage, lifted.over);
      putDown(drop.kind === 'nothing' ? 'Nothing was changed.' : '');
      if (drop.kind === 'command') command.mutate({ stage, verb: drop.verb });
      if (drop.kind === 'refused') showRefusedDrop(drop.text);
    },
    cancel,
  };
}

/** Puts the card down when a drag ends outside of the columns, or after its card has left the page, which nothing tells. */
function useEndOfDrag(): void {
  const isDragging = useLifted(({ lifted }) => lifted?.by === 'pointer');
  useEffect(() => {
    if (!isDragging) return;
    const end = () => useLifted.getState().putDown('Nothing was changed.');
    document.addEventListener('dragend', end);
    // The pointer does not move while something is dragged.
    document.addEventListener('pointermove', end);
    return () => {
      document.removeEventListener('dragend', end);
      document.removeEventListener('pointermove', end);
    };
  }, [isDragging]);
  useEffect(() => () => useLifted.getState().putDown(''), []);
}

function cardOf(target: EventTarget): StageId | null {
  const card = target instanceof Element ? target.closest(`[${CARD}]`) : null;
  return card === null ? null : StageId.parse(card.getAttribute(CARD));
}

function columnOf(target: EventTarget): Column | null {
  const section = target instanceof Element ? target.closest(`section[${COLUMN}]`) : null;
  return section === null ? null : Column.parse(section.getAttribute(COLUMN));
}

/** A card that a person is moving to another column. */
interface Lifted {
  stageId: StageId;
  by: 'keys' | 'pointer';
  /** The column that it would be dropped on; null outside of all. */
  over: Column | null;
}

interface LiftedStore {
  lifted: Lifted | null;
  /** What a screen reader is told of it. */
  said: string;
  lift(lifted: Lifted, said: string): void;
  moveOver(over: Column | null, said: string): void;
  putDown(said: string): void;
}

/** The card that is being moved, by pointer or by keyboard. */
const useLifted = create<LiftedStore>((set) => ({
  lifted: null,
  said: '',
  lift: (lifted, said) => set({ lifted, said }),
  moveOver: (over, said) =>
    set((state) =>
      state.lifted === null || state.lifted.over === over ? state : { lifted: { ...state.lifted, over }, said },
    ),
  putDown: (said) => set((state) => (state.lifted === null ? state : { lifted: null, said })),
}));

interface BoardColumnProps extends Pick<CardSlots, 'RequestSlot'> {
  column: Column;
  /** Draws the cards, where they are more than one list. */
  CellsSlot?: ComponentType<ColumnCardsProps>;
}

/** One column: its head, its cards, and what a drop on it would do. */
export function BoardColumn({ column, RequestSlot, CellsSlot }: BoardColumnProps) {
  const { filter, save } = useBoardFilter();
  const select = useCallback((view: BoardView) => columnStages(view, column, save), [column, save]);
  const { data: stageIds = [] } = useQuery({ ...boardQuery, select });
  const selectElsewhere = useCallback(
    (view: BoardView) => (column === 'needs-you' ? countElsewhere(view, save) : 0),
    [column, save],
  );
  const { data: elsewhere = 0 } = useQuery({ ...boardQuery, select: selectElsewhere });
  const count = stageIds.length + elsewhere;
  const isPhone = useMediaQuery('(max-width: 767px)', false) ?? false;
  const onPhone = useBoardUi((ui) => ui.phoneColumn === column);
  const isFolded = useBoardUi((ui) => ui.folded.includes(column)) && !isPhone;
  const titleId = useId();
  const empty = isFiltering(filter) ? 'Nothing matches' : COLUMN_EMPTY[column];
  return (
    <section
      className={css.column}
      style={{ gridColumn: isPhone ? 1 : COLUMNS.indexOf(column) + 1 }}
      aria-labelledby={titleId}
      data-column={column}
      data-phone={onPhone}
      data-folded={isFolded}
      data-needs={column === 'needs-you' && count > 0}
    >
      <header className={css.columnHead}>
        <h2 id={titleId}>{COLUMN_TITLES[column]}</h2>
        <span className={css.count}>{count}</span>
        <FoldButton column={column} isFolded={isFolded} />
      </header>
      {!isFolded && count === 0 && <p className={css.none}>{empty}</p>}
      {!isFolded && elsewhere > 0 && (
        <p className={css.none}>
          <Link to="/inbox">
            {elsewhere} {stageIds.length > 0 && 'more '}in the inbox
          </Link>
        </p>
      )}
      <DropTarget
        column={column}
        isPhone={isPhone}
        RequestSlot={RequestSlot}
        CellsSlot={CellsSlot}
        stageIds={isFolded ? [] : stageIds}
      />
    </section>
  );
}

function FoldButton({ column, isFolded }: { column: Column; isFolded: boolean }) {
  const toggleFold = useBoardUi((ui) => ui.toggleFold);
  const label = isFolded ? `Unfold ${COLUMN_TITLES[column]}` : `Fold ${COLUMN_TITLES[column]}`;
  const Icon = isFolded ? IconChevronsRight : IconChevronsLeft;
  return (
    <ActionIcon
      variant="subtle"
      size={24}
      className={css.fold}
      aria-label={label}
      title={label}
      onClick={() => toggleFold(column)}
    >
      <Icon size={14} />
    </ActionIcon>
  );
}

interface DropTargetProps extends BoardColumnProps {
  stageIds: readonly StageId[];
  isPhone: boolean;
}

function DropTarget({ column, stageIds, isPhone, RequestSlot, CellsSlot }: DropTargetProps) {
  const isOff = !useCanCommand();
  const isFixed = isOff || isPhone;
  const lifted = useLifted(({ lifted }) => (lifted?.over === column ? lifted.stageId : null));
  const Cards = CellsSlot ?? (stageIds.length > MAX_DRAWN ? VirtualCards : AllCards);
  return (
    <>
      <Cards column={column} stageIds={stageIds} isOff={isOff} isFixed={isFixed} RequestSlot={RequestSlot} />
      {lifted !== null && <DropHint stageId={lifted} column={column} />}
    </>
  );
}

/** What happens if the card is dropped here. */
function DropHint({ stageId, column }: { stageId: StageId; column: Column }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  const drop = stage === undefined ? null : dropOn(stage, column);
  if (drop === null || drop.kind === 'nothing') return null;
  return (
    <div className={css.dropHint} data-refused={drop.kind === 'refused'}>
      {drop.text}
    </div>
  );
}

/** A longer column draws only the cards on the screen and a few around them. */
const MAX_DRAWN = 60;
/** Two lines, and the hairline. */
const CARD_HEIGHT = 49;
const OVERSCAN = 4;

/** The id of the element that explains how a card is moved by keyboard. */
const DRAG_HELP = 'drag-help';

export interface ColumnCardsProps extends Pick<CardSlots, 'RequestSlot'> {
  column: Column;
  stageIds: readonly StageId[];
  /** Whether cards stay where they are. */
  isFixed: boolean;
  /** Whether nothing can be commanded now. */
  isOff: boolean;
}

/** The cards of a column that draws all of them. */
function AllCards({ column, stageIds, isFixed, isOff, RequestSlot }: ColumnCardsProps) {
  const list = useList(column);
  return (
    <ul className={css.rows} {...list}>
      {stageIds.map((stageId) => (
        <CardItem key={stageId} stageId={stageId} isFixed={isFixed} isOff={isOff} RequestSlot={RequestSlot} />
      ))}
    </ul>
  );
}

/** The cards of a long column. */
function VirtualCards({ column, stageIds, isFixed, isOff, RequestSlot }: ColumnCardsProps) {
  const list = useList(column);
  const wanted = useBoardUi((ui) => ui.wanted);
  const { height, measureElement } = useMeasuring();
  const virtualizer = useVirtualizer({
    count: stageIds.length,
    getScrollElement: () => list.ref.current,
    estimateSize: () => height.current,
    getItemKey: (index) => stageIds[index] ?? index,
    overscan: OVERSCAN,
    initialOffset: () => savedScroll(column),
    measureElement,
    useFlushSync: false,
  });
  useEffect(() => {
    const index = wanted === null ? -1 : stageIds.indexOf(wanted);
    if (index !== -1) virtualizer.scrollToIndex(index);
  }, [wanted, stageIds, virtualizer]);
  return (
    <ul className={css.rows} data-virtual="true" {...list}>
      <li aria-hidden className={css.room} style={{ height: virtualizer.getTotalSize() }} />
      {virtualizer.getVirtualItems().map(({ index, start }) => {
        const stageId = stageIds[index];
        if (stageId === undefined) return null;
        const props = { stageId, index, isFixed, isOff, RequestSlot, top: start, measure: virtualizer.measureElement };
        return <CardItem key={stageId} {...props} />;
      })}
    </ul>
  );
}

/**
 * How high cards are. A card that appears is taken to be as high as the last one that was measured, and measured by the browser
 * itself once it has laid it out: to ask for its height would lay out the page once more.
 */
function useMeasuring() {
  const height = useRef(CARD_HEIGHT);
  const measureElement = useCallback(
    (
      element: Element,
      entry: ResizeObserverEntry | undefined,
      { itemSizeCache, indexFromElement, options }: Measuring,
    ) => {
      const [box] = entry?.borderBoxSize ?? [];
      if (box === undefined) return itemSizeCache.get(options.getItemKey(indexFromElement(element))) ?? height.current;
      height.current = Math.round(box.blockSize);
      return height.current;
    },
    [],
  );
  return { height, measureElement };
}

type Measuring = Virtualizer<HTMLUListElement, Element>;

interface CardItemProps extends Pick<ColumnCardsProps, 'RequestSlot' | 'isFixed' | 'isOff'> {
  stageId: StageId;
  /** Its place, in a column that does not draw all cards. */
  index?: number;
  top?: number;
  measure?: (element: HTMLElement | null) => void;
}

/** A card in its place. */
export const CardItem = memo(function CardItem({
  stageId,
  index,
  isFixed,
  isOff,
  RequestSlot,
  top,
  measure,
}: CardItemProps) {
  const isLifted = useLifted(({ lifted }) => lifted?.stageId === stageId);
  return (
    <li
      ref={measure}
      data-index={index}
      {...(isFixed ? {} : { draggable: true, [CARD]: stageId })}
      style={top === undefined ? undefined : { position: 'absolute', top, left: 0, right: 0 }}
      data-dragging={isLifted}
    >
      <StageCard stageId={stageId} RequestSlot={RequestSlot} isOff={isOff} dragHelp={isFixed ? undefined : DRAG_HELP} />
    </li>
  );
});

const SCROLL_KEY = 'callboard-scroll-';
const savedScroll = (column: Column): number => Number(sessionStorage.getItem(SCROLL_KEY + column) ?? 0);

/** The list's element. Restores where it was scrolled to, after another page and after a reload. */
function useList(column: Column) {
  const ref = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    const list = ref.current;
    const saved = savedScroll(column);
    if (list !== null && saved > 0) list.scrollTop = saved;
  }, [column]);
  const onScrollEnd = useCallback(
    ({ currentTarget }: { currentTarget: HTMLElement }) =>
      sessionStorage.setItem(SCROLL_KEY + column, String(Math.round(currentTarget.scrollTop))),
    [column],
  );
  return { ref, onScrollEnd };
}

/** Selects the column a phone shows. Tab reaches one of the tabs, the arrow keys the others. */
function ColumnTabs() {
  const { save } = useBoardFilter();
  const select = useCallback((view: BoardView) => columnCounts(view, save), [save]);
  const { data: counts } = useQuery({ ...boardQuery, select });
  const current = useBoardUi((ui) => ui.phoneColumn);
  const setCurrent = useBoardUi((ui) => ui.setPhoneColumn);
  const isSet = useBoardUi((ui) => ui.isPhoneColumnSet);
  const first = PHONE_COLUMNS.find((column) => (counts?.[column] ?? 0) > 0);
  // It opens at what there is, and then moves no more by itself.
  useLayoutEffect(() => {
    if (!isSet && counts !== undefined) setCurrent(first ?? 'needs-you');
  }, [isSet, counts, first, setCurrent]);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const next = columnAt(current, event.key);
    if (next === undefined) return;
    event.preventDefault();
    setCurrent(next);
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next}"]`)?.focus();
  };
  return (
    <div className={css.tabs} role="tablist" aria-label="Column shown" onKeyDown={onKeyDown}>
      {PHONE_COLUMNS.map((column) => (
        <button
          key={column}
          type="button"
          role="tab"
          className={css.tab}
          aria-selected={column === current}
          tabIndex={column === current ? 0 : -1}
          data-tab={column}
          onClick={() => setCurrent(column)}
        >
          {COLUMN_TITLES[column]}{' '}
          {column === 'needs-you' && (counts?.[column] ?? 0) > 0 ? (
            <Count>{counts?.[column]}</Count>
          ) : (
            <span className="faint">{counts?.[column] ?? 0}</span>
          )}
        </button>
      ))}
    </div>
  );
}

/** The tab a key moves to, wrapping around at the ends. */
function columnAt(current: Column, key: string): Column | undefined {
  const place = PHONE_COLUMNS.indexOf(current);
  switch (key) {
    case 'ArrowLeft':
      return PHONE_COLUMNS.at(place - 1);
    case 'ArrowRight':
      return PHONE_COLUMNS[(place + 1) % PHONE_COLUMNS.length];
    case 'Home':
      return PHONE_COLUMNS[0];
    case 'End':
      return PHONE_COLUMNS.at(-1);
    default:
      return undefined;
  }
}
