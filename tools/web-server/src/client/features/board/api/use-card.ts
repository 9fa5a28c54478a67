import type { BoardView, PendingRequest, StageId, StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { memoizeByObject } from '../../../lib/memoize.ts';
import type { StageWords } from '../../../lib/needs-you-words.ts';
import { waitingSince } from '../../../lib/stages-needing-you.ts';
import { cardWords, phaseWords } from '../model/card-words.ts';

export interface CardData {
  stage: StageView;
  words: StageWords;
  phase: string | null;
  project: string;
  /** How many of the stage's requests wait for an answer, and how many of its answers have an unknown delivery. */
  pending: number;
  unsettled: number;
  /** Since when the stage waits for a person; null if it does not. */
  needsSince: string | null;
}

/** Everything a card shows; the same object until something in it changes. */
export function useCard(stageId: StageId): CardData | undefined {
  const select = useCallback((view: BoardView) => readCard(view, stageId), [stageId]);
  return useQuery({ ...boardQuery, select }).data;
}

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

function readCard(view: BoardView, stageId: StageId): CardData | undefined {
  const { stages, projects, pending: waiting } = indexOf(view);
  const stage = stages.get(stageId);
  if (stage === undefined) return undefined;
  const pending = waiting.get(stageId) ?? NONE;
  const unsettled = view.unsettled.filter((decision) => decision.stageId === stageId).length;
  const words = cardWords({
    stage,
    pending,
    unsettled,
    titleOf: (id) => stages.get(id)?.title,
    isDone: (id) => stages.get(id)?.column === 'done',
  });
  const project = projects.get(stage.projectId) ?? stage.projectId;
  const needsSince = stage.column === 'needs-you' ? (pending[0]?.createdAt ?? waitingSince(stage)) : null;
  const counts = { pending: pending.length, unsettled };
  return { stage, words, phase: phaseWords(stage), project, ...counts, needsSince };
}
