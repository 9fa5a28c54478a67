import type { BoardView, PendingRequest, StageId, StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { boardQuery } from '../../../live/queries.ts';
import { type CardWords, cardWords, phaseWords } from '../model/card-words.ts';

export interface CardData {
  stage: StageView;
  words: CardWords;
  phase: string | null;
  project: string;
  /** Since when the stage waits for an answer. */
  askedAt: string | undefined;
}

/** All that a card shows; the same object for as long as nothing of it changes. */
export function useCard(stageId: StageId): CardData | undefined {
  const select = useCallback((view: BoardView) => readCard(view, stageId), [stageId]);
  return useQuery({ ...boardQuery, select }).data;
}

interface BoardIndex {
  stages: ReadonlyMap<string, StageView>;
  projects: ReadonlyMap<string, string>;
  /** The longest waiting first. */
  pending: ReadonlyMap<string, PendingRequest[]>;
}

const indexes = new WeakMap<BoardView, BoardIndex>();

/** Made once a view, not once a card: hundreds of cards look into it at each event. */
function indexOf(view: BoardView): BoardIndex {
  const known = indexes.get(view);
  if (known !== undefined) return known;
  const index = {
    stages: new Map(view.stages.map((stage) => [String(stage.id), stage])),
    projects: new Map(view.projects.map((project) => [String(project.id), project.name])),
    pending: Map.groupBy(
      view.pending.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt)),
      ({ stageId }) => String(stageId),
    ),
  };
  indexes.set(view, index);
  return index;
}

const NONE: PendingRequest[] = [];

function readCard(view: BoardView, stageId: StageId): CardData | undefined {
  const { stages, projects, pending: waiting } = indexOf(view);
  const stage = stages.get(stageId);
  if (stage === undefined) return undefined;
  const pending = waiting.get(stageId) ?? NONE;
  const words = cardWords({
    stage,
    pending,
    unsettled: view.unsettled.filter((decision) => decision.stageId === stageId).length,
    titleOf: (id) => stages.get(id)?.title,
    isDone: (id) => stages.get(id)?.column === 'done',
  });
  const project = projects.get(stage.projectId) ?? stage.projectId;
  return { stage, words, phase: phaseWords(stage), project, askedAt: pending[0]?.createdAt };
}
