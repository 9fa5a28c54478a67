import {
  type BoardView,
  isPaused,
  type PendingRequest,
  RISK_TEXTS,
  type StageId,
  type StageView,
  waitingSince,
} from '@callboard/contract';
import { type QueryClient, QueryObserver, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, use, useMemo, useState, useSyncExternalStore } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { memoizeByObject } from '../../../lib/memoize.ts';
import { type CardText, cardText, type PhaseText, phaseText } from '../model/card-words.ts';

export interface CardData {
  stage: StageView;
  text: CardText;
  /** The stage itself, its project or everything is on hold. */
  paused: boolean;
  phase: PhaseText | null;
  project: string;
  /** How many of the stage's requests wait for an answer, and how many of its answers have an unknown delivery. */
  pending: number;
  unsettled: number;
  /** What the request that waits longest can do, in words; empty if nothing is known. */
  stakes: readonly string[];
  /** Since when the stage waits for a person; null if it does not. */
  needsSince: string | null;
}

/** Everything a card shows; the same object until something in it changes. */
export function useCard(stageId: StageId): CardData | undefined {
  const select = useMemo(() => retainEqual((view) => readCard(view, stageId)), [stageId]);
  return useQuery({ ...boardQuery, select, structuralSharing: false }).data;
}

const observe = (cache: QueryClient) => new QueryObserver(cache, boardQuery);
type BoardObserver = ReturnType<typeof observe>;

/** Reads the board for rows: hundreds of them share one observer of it. */
const BoardRows = createContext<BoardObserver | null>(null);
export const BoardRowsProvider = BoardRows.Provider;

/** Makes what `useRowCard` reads from. */
export function useBoardRows(): BoardObserver {
  const cache = useQueryClient();
  const [observer] = useState(() => observe(cache));
  return observer;
}

/** Like `useCard`, for a row below a `BoardRowsProvider`. */
export const useRowCard = (stageId: StageId): CardData | undefined =>
  useRowData(useMemo(() => retainEqual((view) => readCard(view, stageId)), [stageId]));

/**
 * What a row reads from the board, below a `BoardRowsProvider`.
 *
 * @param select always the same function for a row; it returns the same value again while nothing in it has changed
 */
export function useRowData<T>(select: (view: BoardView) => T): T | undefined {
  const cache = useQueryClient();
  const observer = use(BoardRows);
  if (observer === null) throw new Error('There is no BoardRowsProvider above this row.');
  const read = () => {
    const view = cache.getQueryData(boardQuery.queryKey);
    return view === undefined ? undefined : select(view);
  };
  return useSyncExternalStore(observer.subscribe, read);
}

/** Returns the same card again while nothing in it has changed: hundreds of rows read the board at each event. */
function retainEqual(read: (view: BoardView) => CardData | undefined): (view: BoardView) => CardData | undefined {
  let last: CardData | undefined;
  return (view) => {
    const card = read(view);
    if (card === undefined || last === undefined || !isSame(card, last)) last = card;
    return last;
  };
}

/** Unchanged stages keep their identity from view to view. */
const isSame = (a: CardData, b: CardData): boolean =>
  a.stage === b.stage &&
  a.project === b.project &&
  a.paused === b.paused &&
  a.pending === b.pending &&
  a.unsettled === b.unsettled &&
  a.needsSince === b.needsSince &&
  JSON.stringify([a.text, a.stakes]) === JSON.stringify([b.text, b.stakes]);

interface BoardIndex {
  stages: ReadonlyMap<string, StageView>;
  projects: ReadonlyMap<string, string>;
  /** Longest waiting first. */
  pending: ReadonlyMap<string, readonly PendingRequest[]>;
}

/** Built once for each view, not for each card: hundreds of cards read it at each event. */
const indexOf = memoizeByObject(
  (view: BoardView): BoardIndex => ({
    stages: new Map(view.stages.map((stage) => [String(stage.id), stage])),
    projects: new Map(view.projects.map((project) => [String(project.id), project.name])),
    pending: Map.groupBy(
      view.pending.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt)),
      ({ stageId }) => String(stageId),
    ),
  }),
);

const NONE: readonly PendingRequest[] = [];

/** Returns the stage's request that waits longest; null if it has none. */
export const firstRequestOf = (view: BoardView, stageId: StageId): PendingRequest | null =>
  indexOf(view).pending.get(stageId)?.[0] ?? null;

/** At most this many words stand in a row. */
const MAX_RISKS = 2;

const risksOf = ([first]: readonly PendingRequest[]): readonly string[] =>
  (first?.stakes ?? []).slice(0, MAX_RISKS).map(({ code }) => RISK_TEXTS[code]);

function readCard(view: BoardView, stageId: StageId): CardData | undefined {
  const { stages, projects, pending: waiting } = indexOf(view);
  const stage = stages.get(stageId);
  if (stage === undefined) return undefined;
  const pending = waiting.get(stageId) ?? NONE;
  const unsettled = view.unsettled.filter((decision) => decision.stageId === stageId).length;
  const paused = isPaused(stage, view.holds);
  const text = cardText({
    stage,
    pending,
    unsettled,
    titleOf: (id) => stages.get(id)?.title,
    isDone: (id) => stages.get(id)?.column === 'done',
    paused,
    startDelay: view.startHolds.find(({ stageIds }) => stageIds.includes(stageId)),
  });
  const project = projects.get(stage.projectId) ?? stage.projectId;
  const needsSince = stage.column === 'needs-you' ? (pending[0]?.createdAt ?? waitingSince(stage)) : null;
  const counts = { pending: pending.length, unsettled };
  return { stage, text, paused, phase: phaseText(stage), project, ...counts, stakes: risksOf(pending), needsSince };
}
