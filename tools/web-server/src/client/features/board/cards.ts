import {
  type BoardView,
  isPaused,
  type PendingRequest,
  type RequestKind,
  RISK_TEXTS,
  type SessionNow,
  type StageId,
  type StageView,
  type StartDelay,
  waitingSince,
} from '@callboard/contract';
import { type QueryClient, QueryObserver, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type MouseEvent, use, useCallback, useMemo, useState, useSyncExternalStore } from 'react';
import { useNavigate } from 'react-router';
import { boardQuery } from '../../data/queries.ts';
import { pagePath } from '../../lib/base-path.ts';
import { checkResult } from '../../lib/check-text.ts';
import { count } from '../../lib/format.ts';
import { comingTime, isAhead, reviewWaits } from '../../lib/limit-text.ts';
import { memoizeByObject } from '../../lib/memoize.ts';
import { lastReview, reviewProblem, reviewText } from '../../lib/review-text.ts';
import {
  denialAtAGlance,
  GOES_ON,
  inTerminalText,
  phaseNow,
  type StageText,
  stoppedText,
} from '../../lib/stage-status.ts';
import { toolTitle } from '../../lib/tool-text.ts';
import { wakeText } from '../../lib/wake-text.ts';
import { askLine } from '../approvals/kinds/request-summary.ts';

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

/** Reads the board for cards: hundreds of them share one observer of it. */
const BoardCards = createContext<BoardObserver | null>(null);
export const BoardCardsProvider = BoardCards.Provider;

/** Makes what `useBoardCard` reads from. */
export function useBoardCards(): BoardObserver {
  const cache = useQueryClient();
  const [observer] = useState(() => observe(cache));
  return observer;
}

/** Like `useCard`, for a card below a `BoardCardsProvider`. */
export const useBoardCard = (stageId: StageId): CardData | undefined =>
  useBoardData(useMemo(() => retainEqual((view) => readCard(view, stageId)), [stageId]));

/**
 * What a card reads from the board, below a `BoardCardsProvider`.
 *
 * @param select always the same function for a card; it returns the same value again while nothing in it has changed
 */
export function useBoardData<T>(select: (view: BoardView) => T): T | undefined {
  const cache = useQueryClient();
  const observer = use(BoardCards);
  if (observer === null) throw new Error('There is no BoardCardsProvider above this card.');
  const read = () => {
    const view = cache.getQueryData(boardQuery.queryKey);
    return view === undefined ? undefined : select(view);
  };
  return useSyncExternalStore(observer.subscribe, read);
}

/** Returns the same card again while nothing in it has changed: hundreds of cards read the board at each event. */
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

/** At most this many words stand in a card. */
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
const pathIn = (action: string): string | null => FILE_ACTION.exec(action)?.[1] ?? null;

/** When it starts, or goes on, and why not now. A card has little room, so the time comes first. */
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

/** What a running stage's card says where nothing finer is known. */
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
function phaseText(stage: StageView): PhaseText | null {
  const { pipeline, session } = stage;
  if (pipeline.length === 0 || session === null || stage.completedAt !== null) return null;
  const index = Math.min(session.phaseIndex, pipeline.length - 1);
  const checks = checkResult(stage);
  const label = `${phaseNow(stage)}, phase ${index + 1} of ${pipeline.length}${checks === '' ? '' : `, ${checks}`}`;
  return { label, index, total: pipeline.length };
}

/** What a session does this moment, for its card. */
export interface ActivityText {
  /** `text`: the sentence that Claude writes. */
  kind: 'text' | 'command' | 'action';
  text: string;
  /** A path in the text, shortened in its middle if there is no room. */
  path?: string;
  isCode: boolean;
  /** When it began; null if that says nothing. */
  since: string | null;
}

const PREPARES: Readonly<Record<string, string>> = {
  AskUserQuestion: 'writing a question',
  Bash: 'writing a command',
  Edit: 'writing an edit',
  ExitPlanMode: 'writing a plan',
  MultiEdit: 'writing edits',
  NotebookEdit: 'writing an edit',
  Task: 'briefing an agent',
  Agent: 'briefing an agent',
  TodoWrite: 'updating its to-do list',
  Write: 'writing a file',
};

export function activityText(now: SessionNow): ActivityText {
  switch (now.kind) {
    case 'thinking':
      return { kind: 'action', text: 'thinking', isCode: false, since: now.since };
    case 'writing':
      if (now.text === '') return { kind: 'action', text: 'writing', isCode: false, since: null };
      return { kind: 'text', text: now.text, isCode: false, since: null };
    case 'preparing':
      return {
        kind: 'action',
        isCode: false,
        since: null,
        text: PREPARES[now.toolName] ?? `preparing ${toolTitle(now.toolName)}`,
      };
    case 'tool': {
      if (now.isCommand) return { kind: 'command', text: now.action, isCode: true, since: now.since };
      const path = pathIn(now.action);
      const text = { kind: 'action', text: now.action, since: now.since } as const;
      return path === null ? { ...text, isCode: false } : { ...text, isCode: true, path };
    }
    case 'background': {
      const more = now.others === 0 ? '' : ` and ${now.others} more`;
      return { kind: 'action', text: `waits for ${now.action}${more}`, isCode: false, since: now.since };
    }
    case 'review':
      return { kind: 'action', text: 'reviewing the changes', isCode: false, since: now.since };
    case 'check':
      return { kind: 'command', text: now.command, isCode: true, since: now.since };
    default:
      return now satisfies never;
  }
}

/** Follows the links of cards within this page. The handler belongs to the element around all of them. */
export function useCardLinks(): (event: MouseEvent) => void {
  const navigate = useNavigate();
  return useCallback(
    (event) => {
      const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
      if (!isPlain || event.defaultPrevented || !(event.target instanceof Element)) return;
      const link = event.target.closest('a[data-card]');
      if (!(link instanceof HTMLAnchorElement)) return;
      event.preventDefault();
      void navigate(pagePath(link.pathname));
    },
    [navigate],
  );
}
