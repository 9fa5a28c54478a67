import type { PendingRequest, StageView } from '@callboard/contract';
import { phaseNow, type StageWords, stoppedWords } from '../../../lib/needs-you-words.ts';
import { askPath, askSummary } from '../../interaction/words/request-words.ts';

/** Everything the text on a card depends on. */
export interface CardFacts {
  stage: StageView;
  /** The stage's own requests, longest waiting first. */
  pending: readonly PendingRequest[];
  /** How many of its answers have an unknown delivery. */
  unsettled: number;
  /** The title of another stage; undefined if there is none with this id. */
  titleOf: (stageId: string) => string | undefined;
  isDone: (stageId: string) => boolean;
}

/** A stage's situation, in words for its card. */
export function cardWords(facts: CardFacts): StageWords {
  const { stage } = facts;
  switch (stage.column) {
    case 'backlog':
      return { text: backlogWords(facts), tone: 'plain' };
    case 'ready':
      return { text: stage.autoStart ? 'starts by itself when there is room' : 'can be started', tone: 'plain' };
    case 'running':
      return { ...runningWords(stage), tone: 'plain' };
    case 'needs-you':
      return needsYouWords(stage, facts.pending, facts.unsettled);
    case 'review':
      return { text: 'finished, to be looked at', tone: 'plain' };
    case 'done':
      return { text: 'completed', tone: 'done' };
    default:
      return stage.column satisfies never;
  }
}

/** Why a stage needs somebody, by its own requests (the longest waiting first) and how many answers are of unknown fate. */
function needsYouWords(stage: StageView, pending: readonly PendingRequest[], unsettled: number): StageWords {
  if (stage.session?.alarm != null) return stoppedWords(stage);
  const [first] = pending;
  if (first !== undefined) {
    const folder = stage.worktree?.path ?? null;
    const more = pending.length > 1 ? ` and ${pending.length - 1} more` : '';
    const path = askPath(first, folder);
    return { text: `${askSummary(first, folder)}${more}`, tone: 'needs', ...(path === '' ? {} : { path }) };
  }
  if (unsettled > 0) return { text: 'an answer may not have reached Claude', tone: 'needs' };
  return stoppedWords(stage);
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

/** "Build, phase 2 of 3"; null unless the stage has phases and was started. */
export function phaseWords(stage: StageView): string | null {
  const { pipeline, session } = stage;
  if (pipeline.length === 0 || session === null || stage.completedAt !== null) return null;
  return `${phaseNow(stage)}, phase ${Math.min(session.phaseIndex + 1, pipeline.length)} of ${pipeline.length}`;
}

/** Matches a last action on a file: verb and path. */
const FILE_ACTION = /^(?:Read|Edit|MultiEdit|Write|NotebookEdit) (\S.*)$/;

function runningWords({ session }: StageView): Pick<StageWords, 'text' | 'path'> {
  switch (session?.state) {
    case 'starting':
      return { text: 'starting' };
    case 'waiting':
      return { text: 'answered, Claude goes on' };
    default: {
      const text = session?.lastAction ?? 'working';
      const path = FILE_ACTION.exec(text)?.[1];
      return path === undefined ? { text } : { text, path };
    }
  }
}
