import type { BoardView, PendingRequest, StageId, StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { StageWords } from '../../../lib/need-words.ts';
import { waitsSince } from '../../../live/needs-you.ts';
import { boardQuery } from '../../../live/queries.ts';
import { cardWords, phaseWords } from '../model/card-words.ts';

export interface CardData {
  stage: StageView;
  words: StageWords;
  phase: string | null;
  project: string;
  /** How many requests of the stage wait for an answer, and of how many answers nobody knows the fate. */
  pending: number;
  unsettled: number;
  /** Since when the stage waits for a person, where it does. */
  needsSince: string | null;
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
  const unsettled = view.unsettled.filter((decision) => decision.stageId === stageId).length;
  const words = cardWords({
    stage,
    pending,
    unsettled,
    titleOf: (id) => stages.get(id)?.title,
    isDone: (id) => stages.get(id)?.column === 'done',
  });
  const project = projects.get(stage.projectId) ?? stage.projectId;
  const needsSince = stage.column === 'needs-you' ? (pending[0]?.createdAt ?? waitsSince(stage)) : null;
  const counts = { pending: pending.length, unsettled };
  return { stage, words, phase: phaseWords(stage), project, ...counts, needsSince };
}
