import type { BoardView, StageId, StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { boardQuery, stageOf } from '../../../live/queries.ts';
import { type CardWords, cardWords } from '../model/card-words.ts';

export interface CardData {
  stage: StageView;
  words: CardWords;
  project: string;
  /** Since when the stage waits for an answer. */
  askedAt: string | undefined;
}

/** All that a card shows; the same object for as long as nothing of it changes. */
export function useCard(stageId: StageId): CardData | undefined {
  const select = useCallback((view: BoardView) => readCard(view, stageId), [stageId]);
  return useQuery({ ...boardQuery, select }).data;
}

function readCard(view: BoardView, stageId: StageId): CardData | undefined {
  const stage = stageOf(stageId)(view);
  if (stage === undefined) return undefined;
  const pending = view.pending
    .filter((request) => request.stageId === stageId)
    .sort((a, b) => a.createdAt.localeCompare(b.createdAt));
  const find = (id: string) => view.stages.find((other) => other.id === id);
  const words = cardWords({
    stage,
    pending,
    titleOf: (id) => find(id)?.title,
    isDone: (id) => find(id)?.column === 'done',
  });
  const project = view.projects.find((other) => other.id === stage.projectId)?.name ?? stage.projectId;
  return { stage, words, project, askedAt: pending[0]?.createdAt };
}
