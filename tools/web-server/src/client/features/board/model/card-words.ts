import type { PendingRequest, RequestKind, StageView, StartDelay } from '@callboard/contract';
import { checkResult } from '../../../lib/check-words.ts';
import { count } from '../../../lib/format.ts';
import { comingTime, isAhead, reviewWaits } from '../../../lib/limit-words.ts';
import { denialAtAGlance, phaseNow, type StageText, stoppedText } from '../../../lib/needs-you-words.ts';
import { lastReview, reviewProblem, reviewText } from '../../../lib/review-words.ts';
import { GOES_ON } from '../../../lib/state-words.ts';
import { inTerminalText } from '../../../lib/terminal-words.ts';
import { wakeText } from '../../../lib/wake-words.ts';
import { askLine } from '../../interaction/words/request-words.ts';

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
  /** What keeps it from starting automatically; undefined if nothing does. */
  startDelay?: Pick<StartDelay, 'reason' | 'until'> | undefined;
  /** The stage itself, its project or everything is on hold. */
  paused?: boolean;
}

/** The line below a title. */
export interface CardText extends StageText {
  /** The text is a command or a path. */
  isCode?: true;
  /** It may be decided on this line, so it is shown in full. */
  isWhole?: true;
  /** What is asked, for its icon. */
  asked?: { kind: RequestKind; toolName: string };
}

/** A stage's situation, in words for its card. Empty where the column says it all. */
export function cardText(facts: CardFacts): CardText {
  const { stage } = facts;
  switch (stage.column) {
    case 'backlog':
      return { text: backlogText(facts), tone: 'plain' };
    case 'ready':
      return {
        text: stage.autoStart ? (facts.paused ? PAUSED : delayedText('Starts', facts.startDelay)) : '',
        tone: 'plain',
      };
    case 'running':
      return { ...runningText(facts), tone: 'plain' };
    case 'needs-you':
      return needsYouText(stage, facts.pending, facts.unsettled);
    case 'review':
      return finishedText(stage);
    case 'done':
      return stage.merged === null
        ? { text: 'not merged', tone: 'plain' }
        : { text: `merged ${stage.merged.commit.slice(0, 7)}`, tone: 'done' };
    default:
      return stage.column satisfies never;
  }
}

/** Why a stage needs somebody, by its own requests (the longest waiting first) and how many answers are of unknown fate. */
function needsYouText(stage: StageView, pending: readonly PendingRequest[], unsettled: number): CardText {
  if (stage.session?.alarm != null) return stoppedText(stage);
  const [first] = pending;
  if (first !== undefined) {
    const text = askedText(first, stage.worktree?.path ?? null);
    const isWhole = pending.length === 1 && text.isCode === true && text.text.length <= MAX_WHOLE_LENGTH;
    return isWhole ? { ...text, isWhole } : text;
  }
  if (unsettled > 0) return { text: 'an answer may not have reached Claude', tone: 'needs' };
  return denialAtAGlance(stage) === null ? stoppedText(stage) : { ...stoppedText(stage), isWhole: true };
}

/** What a request asks: of a tool call the command, path or address itself. */
function askedText(request: PendingRequest, folder: string | null): CardText {
  const { kind, toolName } = request;
  const asked = { kind, toolName };
  if (kind === 'question') return { text: questionText(request), tone: 'needs', asked };
  const { text, path, isCode } = askLine(request, folder);
  const code = isCode === true || path !== undefined ? { isCode: true as const } : {};
  return { text, ...code, ...(path === undefined ? {} : { path }), tone: 'needs', asked };
}

const MAX_WHOLE_LENGTH = 60;

function questionText({ input }: PendingRequest): string {
  const { questions } = input;
  const open = Array.isArray(questions) ? questions.length : 1;
  return open === 1 ? '1 question' : `${open} questions`;
}

function backlogText({ stage, titleOf, isDone }: CardFacts): string {
  if (stage.held) return PAUSED;
  const open = stage.dependsOn.filter((id) => !isDone(id));
  const [first] = open;
  if (first === undefined) return 'Not ready yet';
  const title = titleOf(first);
  const more = open.length > 1 ? ` and ${open.length - 1} more` : '';
  return title === undefined ? `waits for ${first}, which does not exist${more}` : `waits for ${title}${more}`;
}

const PAUSED = 'On hold';

/** That a started stage is on hold, and how many messages wait. */
const pausedText = ({ session }: StageView): string => {
  const queued = session?.queued ?? 0;
  return queued === 0 ? PAUSED : `${PAUSED}: ${count(queued, 'message waits', 'messages wait')}`;
};

/** Matches a last action on a file: verb and path. */
const FILE_ACTION = /^(?:Read|Edit|MultiEdit|Write|NotebookEdit) (\S.*)$/;

/** Returns the path in a described action; null if it is about something else. */
export const pathIn = (action: string): string | null => FILE_ACTION.exec(action)?.[1] ?? null;

/** When it starts, or goes on, and why not now. A row has little room, so the time comes first. */
function delayedText(does: 'Starts' | 'Goes on', pause: CardFacts['startDelay']): string {
  if (pause === undefined) return `${does} automatically`;
  const { reason, until } = pause;
  if (until === null) return reason;
  return `${does} after ${comingTime(until)}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}

/** How a stage goes on that stopped at a usage limit; null for any other. */
function atLimitText({ stage: { session }, startDelay }: CardFacts): string | null {
  const resumesAt = session?.limitWait?.goesOnAt ?? null;
  if (resumesAt === null) return null;
  if (startDelay !== undefined) return delayedText('Goes on', startDelay);
  return isAhead(resumesAt) ? `Goes on at ${comingTime(resumesAt)}: usage limit` : GOES_ON;
}

/** What a running stage's row says where nothing finer is known. */
function runningText(facts: CardFacts): Pick<CardText, 'text'> {
  const { stage } = facts;
  const { session } = stage;
  if (facts.paused && (session?.withheld || session?.limitWait != null || session?.review?.state === 'waiting'))
    return { text: pausedText(stage) };
  if (session?.withheld)
    return { text: facts.startDelay === undefined ? GOES_ON : delayedText('Goes on', facts.startDelay) };
  const atLimit = atLimitText(facts);
  if (atLimit !== null) return { text: atLimit };
  const inTerminal = inTerminalText(stage);
  if (inTerminal !== null) return { text: inTerminal };
  switch (session?.state) {
    case 'starting':
      return { text: 'starting' };
    case 'waiting':
      return { text: 'answered, continuing' };
    case 'busy':
      if (session.review?.goesOnAt != null) return { text: reviewWaits(session.review.goesOnAt) };
      return { text: session.check?.state === 'waiting' ? 'check waits for others' : 'working' };
    default:
      return { text: 'working' };
  }
}

/** What a finished stage still runs, for which nothing waits, and when Claude wakes by itself. */
export function backgroundText({ session }: StageView): string {
  const saved = session?.backgroundTasks.length ?? 0;
  const running = saved === 0 ? '' : `${count(saved, 'command')} in the background`;
  return [running, wakeText(session)].filter((text) => text !== '').join(', ');
}

/** What a finished stage has changed, and what its checks and Claude's review say. */
function finishedText(stage: StageView): CardText {
  const review = lastReview(stage);
  const hasNoResult = review !== null && reviewProblem(review.state) !== null;
  const isEmpty = stage.session?.changes?.files === 0;
  const said = [checkResult(stage), review === null ? '' : reviewText(review), backgroundText(stage)];
  const parts = [isEmpty ? 'No changes' : '', ...said];
  return { text: parts.filter((text) => text !== '').join(', '), tone: hasNoResult ? 'fail' : 'plain' };
}

/** The phases of a started stage: "Build, phase 2 of 3". */
export interface PhaseText {
  label: string;
  /** The current phase, from 0. */
  index: number;
  total: number;
}

/** Null unless the stage has phases and was started. */
export function phaseText(stage: StageView): PhaseText | null {
  const { pipeline, session } = stage;
  if (pipeline.length === 0 || session === null || stage.completedAt !== null) return null;
  const index = Math.min(session.phaseIndex, pipeline.length - 1);
  const checks = checkResult(stage);
  const label = `${phaseNow(stage)}, phase ${index + 1} of ${pipeline.length}${checks === '' ? '' : `, ${checks}`}`;
  return { label, index, total: pipeline.length };
}
