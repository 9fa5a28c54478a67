import type { PendingRequest, StageView } from '@callboard/contract';
import { askSummary } from '../../../lib/request-words.ts';
import { clockTime } from '../../../lib/time.ts';

/** All that the words on a card follow from. */
export interface CardFacts {
  stage: StageView;
  /** The stage's own requests, the longest waiting first. */
  pending: readonly PendingRequest[];
  /** How many of its answers nobody knows the fate of. */
  unsettled: number;
  /** The title of another stage; undefined where there is none of that id. */
  titleOf: (stageId: string) => string | undefined;
  isDone: (stageId: string) => boolean;
}

export interface CardWords {
  text: string;
  tone: 'plain' | 'needs' | 'fail' | 'done';
}

/** Where a stage stands, in words. */
export function cardWords(facts: CardFacts): CardWords {
  const { stage } = facts;
  switch (stage.column) {
    case 'backlog':
      return { text: backlogWords(facts), tone: 'plain' };
    case 'ready':
      return { text: stage.autoStart ? 'starts by itself when there is room' : 'can be started', tone: 'plain' };
    case 'running':
      return { text: runningWords(stage), tone: 'plain' };
    case 'needs-you':
      return needsWords(facts);
    case 'review':
      return { text: 'finished, to be looked at', tone: 'plain' };
    case 'done':
      return { text: 'completed', tone: 'done' };
    default:
      return stage.column satisfies never;
  }
}

function backlogWords({ stage, titleOf, isDone }: CardFacts): string {
  if (stage.held) return 'held back';
  const open = stage.dependsOn.filter((id) => !isDone(id));
  const [first] = open;
  if (first === undefined) return 'not ready yet';
  const title = titleOf(first);
  const more = open.length > 1 ? ` and ${open.length - 1} more` : '';
  return title === undefined ? `waits for ${first}, which does not exist${more}` : `waits for ${title}${more}`;
}

const phaseName = ({ session, pipeline }: StageView, ahead = 0): string =>
  pipeline[(session?.phaseIndex ?? 0) + ahead]?.name ?? 'the next phase';

/** "Build, phase 2 of 3", for a stage that has phases and was started. */
export function phaseWords(stage: StageView): string | null {
  const { pipeline, session } = stage;
  if (pipeline.length === 0 || session === null || stage.completedAt !== null) return null;
  return `${phaseName(stage)}, phase ${Math.min(session.phaseIndex + 1, pipeline.length)} of ${pipeline.length}`;
}

function runningWords({ session }: StageView): string {
  switch (session?.state) {
    case 'starting':
      return 'starting';
    case 'waiting':
      return 'answered, Claude goes on';
    default:
      return session?.lastAction ?? 'working';
  }
}

function needsWords({ stage, pending, unsettled }: CardFacts): CardWords {
  const [first] = pending;
  if (first !== undefined) {
    const more = pending.length > 1 ? ` and ${pending.length - 1} more` : '';
    return { text: `${askSummary(first, stage.worktree?.path ?? null)}${more}`, tone: 'needs' };
  }
  if (unsettled > 0) return { text: 'an answer may not have reached Claude', tone: 'needs' };
  const { session } = stage;
  if (session?.atGate === true)
    return { text: `${phaseName(stage)} is finished; let ${phaseName(stage, 1)} begin`, tone: 'needs' };
  if (session !== null && session.stalledSince !== null)
    return { text: `silent since ${clockTime(session.stalledSince)}`, tone: 'needs' };
  const message = session?.lastTurn?.message;
  const because = message === null || message === undefined || message === '' ? '' : `: ${message}`;
  if (session?.state === 'failed') return { text: `failed${because}`, tone: 'fail' };
  if (session?.lastTurn?.outcome === 'failed') return { text: `the last turn failed${because}`, tone: 'fail' };
  if (session?.lastTurn?.outcome === 'interrupted') return { text: `interrupted${because}`, tone: 'needs' };
  return { text: 'stopped before it finished', tone: 'needs' };
}
