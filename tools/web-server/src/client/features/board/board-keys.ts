import {
  type BoardView,
  type Column,
  isPaused,
  type PendingRequest,
  type StageId,
  type StageView,
} from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useLayoutEffect, useRef } from 'react';
import { useBoardUi } from '../../data/board-ui.ts';
import { putPause } from '../../data/pauses.tsx';
import { boardQuery } from '../../data/queries.ts';
import { startStage } from '../../data/stage-commands.ts';
import { showFailure } from '../../data/use-command.tsx';
import { currentParams } from '../../lib/hooks.ts';
import { isTextField, useLetterKeys } from '../../ui/shortcuts.tsx';
import { readDisplay, useBoardFilter } from './board-filter.tsx';
import { firstRequestOf } from './cards.ts';
import { COLUMNS, columnStages, isLaneFolded, laneOf, lanesOf, PHONE_COLUMNS } from './columns.ts';

/** A page's letter counts this long after the G before it: G S goes to the sessions and starts nothing. */
const SEQUENCE_MS = 1_500;

/**
 * The board's keys, from the first one on, wherever the focus is. J, K and the arrow keys move from card to card, X picks the card in
 * hand, S starts it or all picked ones, H holds or releases them. Its request has keys of its own.
 *
 * @param arm tells that a person moved to the card of a request
 */
export function useBoardKeys(arm: (request: PendingRequest) => void): void {
  const cache = useQueryClient();
  const { save } = useBoardFilter();
  const onKey = (event: KeyboardEvent, isAfterG: boolean): boolean => {
    const view = cache.getQueryData(boardQuery.queryKey);
    if (view === undefined) return false;
    const key = event.key.toLowerCase();
    if (MOVES.has(key)) return move(view, { key, target: event.target, save, arm });
    if (isAfterG || !useLetterKeys.getState().on) return false;
    return act(view, key);
  };
  useDocumentKeys(onKey, (stageId) => {
    const view = cache.getQueryData(boardQuery.queryKey);
    const request = view === undefined ? null : firstRequestOf(view, stageId);
    useBoardUi.getState().takeInHand(stageId);
    if (request !== null) arm(request);
  });
}

/** Calls `onKey` for each plain key that is nobody else's, and `onTab` for the card that Tab has reached. */
export function useDocumentKeys(
  onKey: (event: KeyboardEvent, isAfterG: boolean) => boolean,
  onTab: (stageId: StageId) => void = nothing,
): void {
  const latest = useRef({ onKey, onTab });
  useLayoutEffect(() => {
    latest.current = { onKey, onTab };
  });
  useEffect(() => {
    let pressedG = Number.NEGATIVE_INFINITY;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Tab') return void setTimeout(() => tabbed(latest.current.onTab));
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
      if (event.defaultPrevented || !isPlain || isTextField(event.target) || isCovered()) return;
      const isAfterG = event.timeStamp - pressedG < SEQUENCE_MS;
      pressedG = event.key.toLowerCase() === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (latest.current.onKey(event, isAfterG)) event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}

const nothing = () => {};

function tabbed(onTab: (stageId: StageId) => void): void {
  const stageId = focusedCard();
  if (stageId !== null) onTab(stageId);
}

/** Whether something over the board takes the keys, or a card is lifted. */
const isCovered = (): boolean =>
  document.querySelector('[role="dialog"], [role="menu"], [role="listbox"], [data-dragging="true"]') !== null;

const focusedCard = (): StageId | null =>
  document.activeElement instanceof HTMLElement
    ? ((document.activeElement.dataset.card ?? null) as StageId | null)
    : null;

/** The card that the next key is about: the one that is getting the focus, or has it. Keys may come faster than it moves. */
const current = (): StageId | null => useBoardUi.getState().wanted ?? focusedCard();

interface Move {
  key: string;
  target: EventTarget | null;
  save: (stage: StageView) => boolean;
  arm: (request: PendingRequest) => void;
}

function move(view: BoardView, { key, target, save, arm }: Move): boolean {
  const isLetter = key === 'j' || key === 'k';
  if (isLetter && !useLetterKeys.getState().on) return false;
  const columns = reachable(view, save);
  const lists = columns.map(({ stageIds }) => stageIds);
  const card = current();
  const from = card !== null && lists.some((stageIds) => stageIds.includes(card)) ? card : null;
  // Tabs, menus and buttons have arrow keys of their own.
  if (!isLetter && from === null && target !== document.body) return false;
  const next = from === null ? first(columns) : cardAt(sideways(view, lists, from, key), from, key);
  if (next === null) return from !== null;
  useBoardUi.getState().goTo(next);
  const request = firstRequestOf(view, next);
  if (request !== null) arm(request);
  return true;
}

interface Reachable {
  column: Column;
  stageIds: readonly StageId[];
}

/** The columns that are not folded; on a phone the one that is shown. */
function reachable(view: BoardView, save: Move['save']): Reachable[] {
  const { folded, phoneColumn } = useBoardUi.getState();
  const isPhone = window.matchMedia('(max-width: 767px)').matches;
  const isShown = (column: Column) => (isPhone ? column === phoneColumn : !folded.includes(column));
  const columns = COLUMNS.filter(isShown);
  if (readDisplay(currentParams()) !== 'lanes')
    return columns.map((column) => ({ column, stageIds: columnStages(view, column, save) }));
  const lanes = lanesOf(view, save).filter((lane) => !isLaneFolded(lane, useBoardUi.getState().lanes));
  return columns.map((column) => ({ column, stageIds: lanes.flatMap(({ stages }) => stages[column]) }));
}

/** To the left and right, a key stays in the lane as long as there is somebody in it. */
function sideways(view: BoardView, lists: readonly (readonly StageId[])[], from: StageId, key: string) {
  if (!key.startsWith('arrow') || readDisplay(currentParams()) !== 'lanes') return lists;
  const lanes = new Map(view.stages.map((stage) => [stage.id, laneOf(stage)]));
  const within = lists.map((stageIds) => stageIds.filter((id) => lanes.get(id) === lanes.get(from)));
  return key !== 'arrowup' && key !== 'arrowdown' && cardAt(within, from, key) !== null ? within : lists;
}

/** The first key goes to whoever calls, then to what runs. */
function first(columns: readonly Reachable[]): StageId | null {
  for (const column of PHONE_COLUMNS) {
    const [stageId] = columns.find((one) => one.column === column)?.stageIds ?? [];
    if (stageId !== undefined) return stageId;
  }
  return null;
}

function act(view: BoardView, key: string): boolean {
  const ui = useBoardUi.getState();
  const card = current();
  if (key === 'escape' && ui.picked.size > 0) {
    ui.unpick();
    return true;
  }
  if (key === 'x' && card !== null) {
    ui.togglePick(card);
    return true;
  }
  if (key !== 's' && key !== 'h') return false;
  const wanted = ui.picked.size > 0 ? ui.picked : new Set(card === null ? [] : [card]);
  if (key === 'h') return pause(view, wanted);
  const startable = view.stages.filter((stage) => wanted.has(stage.id) && canStart(stage));
  for (const stage of startable) void startFromCard(stage);
  if (startable.length > 0) ui.unpick();
  return startable.length > 0;
}

/** Holds the stages; releases them if all are on hold. */
function pause({ stages, holds }: BoardView, wanted: ReadonlySet<StageId>): boolean {
  const some = stages.filter((stage) => wanted.has(stage.id) && stage.completedAt === null);
  if (some.length === 0) return false;
  const others = some.filter((stage) => !isPaused(stage, holds));
  const [meant, held] = others.length > 0 ? [others, true] : [some, false];
  putPause({ scope: { stageIds: meant.map(({ id }) => id) }, held }).then(
    () => useBoardUi.getState().unpick(),
    (error: unknown) =>
      showFailure({ title: held ? 'The stages were not put on hold' : 'The stages were not released', error }),
  );
  return true;
}

/** Whether the stage was never started and is not done. */
export const canStart = ({ session, completedAt }: StageView): boolean => session === null && completedAt === null;

/** The reachable cards, column by column, each from the top. */
export type CardColumns<T> = readonly (readonly T[])[];

/** The keys that move from card to card; J and K are the letters of the arrow keys. */
const MOVES: ReadonlySet<string> = new Set([
  ...['j', 'k', 'arrowup', 'arrowdown', 'arrowleft', 'arrowright', 'home', 'end'],
]);

/**
 * The card a key moves to: up and down within the column, left and right to the next column with cards (to the same place
 * or the last one), Home and End to the ends of the column. Null for any other key, and at the edges.
 *
 * @param key in small letters
 */
export function cardAt<T>(columns: CardColumns<T>, current: T, key: string): T | null {
  const place = columns.findIndex((column) => column.includes(current));
  const column = columns[place];
  if (column === undefined) return null;
  const row = column.indexOf(current);
  const beside = (step: 1 | -1) => {
    const others = step === 1 ? columns.slice(place + 1) : columns.slice(0, place).toReversed();
    const next = others.find((other) => other.length > 0) ?? [];
    return next[Math.min(row, next.length - 1)] ?? null;
  };
  switch (key) {
    case 'k':
    case 'arrowup':
      return column[row - 1] ?? null;
    case 'j':
    case 'arrowdown':
      return column[row + 1] ?? null;
    case 'arrowleft':
      return beside(-1);
    case 'arrowright':
      return beside(1);
    case 'home':
      return column[0] ?? null;
    case 'end':
      return column.at(-1) ?? null;
    default:
      return null;
  }
}

/** Starts a stage; until that is answered, its card says so. */
export async function startFromCard(stage: StageView): Promise<void> {
  const { id, title } = stage;
  const { setSending } = useBoardUi.getState();
  setSending(id, 'is being started');
  try {
    await startStage(id);
  } catch (error) {
    const retry = () => void startFromCard(stage);
    showFailure({ title: `${title} was not started`, error, stageId: id, retry });
  } finally {
    setSending(id, null);
  }
}
